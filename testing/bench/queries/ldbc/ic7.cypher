// IC7: the latest like of each person who liked a message of the start person. Latency in whole minutes.
MATCH (person:Person {id: $personId})<-[:HAS_CREATOR]-(message:Message)<-[like:LIKES]-(liker:Person)
WITH person, liker, message, like.creationDate AS likeTime
ORDER BY likeTime DESC, message.id
WITH person, liker, head(collect([likeTime, message])) AS latest
WITH person, liker, latest[0] AS likeTime, latest[1] AS message
RETURN liker.id AS personId, liker.firstName AS personFirstName, liker.lastName AS personLastName,
       likeTime AS likeCreationDate, message.id AS messageId,
       coalesce(message.content, message.imageFile) AS messageContent,
       (likeTime - message.creationDate) / 60000 AS minutesLatency,
       NOT EXISTS { (liker)-[:KNOWS]-(person) } AS isNew
ORDER BY likeCreationDate DESC, personId
LIMIT 20
