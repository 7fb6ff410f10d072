// IC12: friends by their replies to posts with a tag of a class or of its sub-classes.
MATCH (base:TagClass {name: $tagClassName})<-[:IS_SUBCLASS_OF*0..]-(class:TagClass)<-[:HAS_TYPE]-(tag:Tag)
WITH collect(DISTINCT tag) AS tags
MATCH (:Person {id: $personId})-[:KNOWS]-(friend:Person)<-[:HAS_CREATOR]-(comment:Comment)-[:REPLY_OF]->(post:Post)-[:HAS_TAG]->(tag:Tag)
WHERE tag IN tags
RETURN friend.id AS personId, friend.firstName AS personFirstName, friend.lastName AS personLastName,
       collect(DISTINCT tag.name) AS tagNames, count(DISTINCT comment) AS replyCount
ORDER BY replyCount DESC, personId
LIMIT 20
