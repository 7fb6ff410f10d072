// BI 12: how many persons wrote how many messages that are short, recent and in threads of some languages.
MATCH (person:Person)
OPTIONAL MATCH (person)<-[:HAS_CREATOR]-(message:Message)-[:REPLY_OF*0..]->(post:Post)
WHERE message.content IS NOT NULL AND message.length < $lengthThreshold AND message.creationDate > $startDate AND post.language IN $languages
WITH person, count(message) AS messageCount
RETURN messageCount, count(*) AS personCount
ORDER BY personCount DESC, messageCount DESC
