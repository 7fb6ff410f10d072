// IC6: tags that appear together with a given one on posts of friends and friends of friends.
MATCH (known:Tag {name: $tagName})
MATCH (person:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE person <> friend
WITH DISTINCT known, friend
MATCH (friend)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(known)
MATCH (post)-[:HAS_TAG]->(tag:Tag)
WHERE tag <> known
RETURN tag.name AS tagName, count(DISTINCT post) AS postCount
ORDER BY postCount DESC, tagName
LIMIT 10
