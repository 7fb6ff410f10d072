// IC8: the latest replies to messages of the start person.
MATCH (:Person {id: $personId})<-[:HAS_CREATOR]-(:Message)<-[:REPLY_OF]-(comment:Comment)
WITH comment
ORDER BY comment.creationDate DESC, comment.id
LIMIT 20
MATCH (comment)-[:HAS_CREATOR]->(author:Person)
RETURN author.id AS personId, author.firstName AS personFirstName, author.lastName AS personLastName,
       comment.creationDate AS commentCreationDate, comment.id AS commentId, comment.content AS commentContent
ORDER BY commentCreationDate DESC, commentId
