// BI 17: who wrote about a tag in a forum two members of which discuss it later in another forum, where the writer is no member.
// The three persons differ, and $delta is in hours. Discussions are grouped by the first forum, so that its threads are read once.
MATCH (tag:Tag {name: $tag})<-[:HAS_TAG]-(message2:Message)<-[:REPLY_OF]-(comment:Comment)-[:HAS_TAG]->(tag)
MATCH (message2)-[:HAS_CREATOR]->(person2:Person), (comment)-[:HAS_CREATOR]->(person3:Person)
WHERE person2 <> person3
MATCH (message2)-[:REPLY_OF*0..]->(:Post)<-[:CONTAINER_OF]-(forum2:Forum)
MATCH (person2)<-[:HAS_MEMBER]-(forum1:Forum)-[:HAS_MEMBER]->(person3)
WHERE forum1 <> forum2
WITH tag, forum1, collect([message2, person2, person3, forum2]) AS discussions
MATCH (forum1)-[:CONTAINER_OF]->(:Post)<-[:REPLY_OF*0..]-(message1:Message)-[:HAS_TAG]->(tag)
MATCH (message1)-[:HAS_CREATOR]->(person1:Person)
UNWIND discussions AS discussion
WITH message1, person1, discussion[0] AS message2, discussion[1] AS person2, discussion[2] AS person3, discussion[3] AS forum2
WHERE message2.creationDate > message1.creationDate + $delta * 3600000
  AND person1 <> person2 AND person1 <> person3 AND NOT EXISTS { (forum2)-[:HAS_MEMBER]->(person1) }
RETURN person1.id AS personId, count(DISTINCT message2) AS messageCount
ORDER BY messageCount DESC, personId
LIMIT 10
