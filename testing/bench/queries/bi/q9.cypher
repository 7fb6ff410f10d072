// BI 9: persons by the messages of a period in the threads that they began in it.
MATCH (person:Person)<-[:HAS_CREATOR]-(post:Post)<-[:REPLY_OF*0..]-(message:Message)
WHERE $startDate <= post.creationDate <= $endDate AND $startDate <= message.creationDate <= $endDate
WITH person, count(DISTINCT post) AS threadCount, count(*) AS messageCount
RETURN person.id AS personId, person.firstName AS firstName, person.lastName AS lastName, threadCount, messageCount
ORDER BY messageCount DESC, personId
LIMIT 100
