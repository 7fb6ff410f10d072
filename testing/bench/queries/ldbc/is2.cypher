// IS2: the latest messages of a person, each with the post it belongs to and that post's author.
MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(message:Message)
WITH message
ORDER BY message.creationDate DESC, message.id DESC
LIMIT 10
MATCH (message)-[:REPLY_OF*0..]->(post:Post)-[:HAS_CREATOR]->(author:Person)
RETURN message.id AS messageId, coalesce(message.content, message.imageFile) AS messageContent,
       message.creationDate AS messageCreationDate, post.id AS postId, author.id AS personId,
       author.firstName AS personFirstName, author.lastName AS personLastName
ORDER BY messageCreationDate DESC, messageId DESC
