// IC4: tags of friends' posts within a period that none of their earlier posts carried.
MATCH (:Person {id: $personId})-[:KNOWS]-(friend:Person)<-[:HAS_CREATOR]-(post:Post)-[:HAS_TAG]->(tag:Tag)
WHERE post.creationDate < $endDate
WITH tag, sum(CASE WHEN post.creationDate >= $startDate THEN 1 ELSE 0 END) AS postCount,
     sum(CASE WHEN post.creationDate < $startDate THEN 1 ELSE 0 END) AS earlier
WHERE postCount > 0 AND earlier = 0
RETURN tag.name AS tagName, postCount
ORDER BY postCount DESC, tagName
LIMIT 10
