// IU6: a new post in a forum; empty texts are absent.
MATCH (author:Person {id: $authorId}), (country:Country {id: $countryId}), (forum:Forum {id: $forumId})
CREATE (author)<-[:HAS_CREATOR]-(post:Post:Message {id: $postId, creationDate: $creationDate, locationIP: $locationIP,
                                                   browserUsed: $browserUsed, language: nullIf($language, ''),
                                                   content: nullIf($content, ''), imageFile: nullIf($imageFile, ''),
                                                   length: $length})-[:IS_LOCATED_IN]->(country),
       (forum)-[:CONTAINER_OF]->(post)
WITH post
UNWIND $tagIds AS tagId
MATCH (tag:Tag {id: tagId})
CREATE (post)-[:HAS_TAG]->(tag)
