// IC9: the latest messages of friends and friends of friends before a date.
MATCH (person:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE person <> friend
WITH DISTINCT friend
MATCH (friend)<-[:HAS_CREATOR]-(message:Message)
WHERE message.creationDate < $maxDate
WITH friend, message
ORDER BY message.creationDate DESC, message.id
LIMIT 20
RETURN friend.id AS personId, friend.firstName AS personFirstName, friend.lastName AS personLastName,
       message.id AS messageId, coalesce(message.content, message.imageFile) AS messageContent,
       message.creationDate AS messageCreationDate
ORDER BY messageCreationDate DESC, messageId
