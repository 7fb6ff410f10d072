// IS4: content of a message.
MATCH (message:Message {id: $messageId})
RETURN coalesce(message.content, message.imageFile) AS messageContent, message.creationDate AS messageCreationDate
