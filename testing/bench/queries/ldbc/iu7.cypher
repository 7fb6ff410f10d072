// IU7: a new comment on a post or a comment.
MATCH (author:Person {id: $authorId}), (country:Country {id: $countryId}), (parent:Message {id: $replyToId})
CREATE (author)<-[:HAS_CREATOR]-(comment:Comment:Message {id: $commentId, creationDate: $creationDate,
                                                          locationIP: $locationIP, browserUsed: $browserUsed,
                                                          content: $content, length: $length})-[:IS_LOCATED_IN]->(country),
       (comment)-[:REPLY_OF]->(parent)
WITH comment
UNWIND $tagIds AS tagId
MATCH (tag:Tag {id: tagId})
CREATE (comment)-[:HAS_TAG]->(tag)
