// IC2: the twenty latest messages of friends up to a date.
MATCH (:Person {id: $personId})-[:KNOWS]-(friend:Person)<-[:HAS_CREATOR]-(message:Message)
WHERE message.creationDate <= $maxDate
WITH friend, message
ORDER BY message.creationDate DESC, message.id
LIMIT 20
RETURN friend.id AS personId, friend.firstName AS personFirstName, friend.lastName AS personLastName,
       message.id AS messageId, coalesce(message.content, message.imageFile) AS messageContent,
       message.creationDate AS messageCreationDate
ORDER BY messageCreationDate DESC, messageId
