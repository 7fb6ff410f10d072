// IC5: forums that friends and friends of friends joined after a date, by the posts of those who joined.
MATCH (person:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE person <> friend
WITH DISTINCT friend
MATCH (friend)<-[membership:HAS_MEMBER]-(forum:Forum)
WHERE membership.joinDate > $minDate
WITH DISTINCT friend, forum
OPTIONAL MATCH (friend)<-[:HAS_CREATOR]-(post:Post)<-[:CONTAINER_OF]-(forum)
WITH forum, count(post) AS postCount
RETURN forum.title AS forumTitle, postCount, forum.id AS forumId
ORDER BY postCount DESC, forumId
LIMIT 20
