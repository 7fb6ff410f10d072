// BI 5: the most active authors about a tag: one point a message, two a reply, ten a like.
MATCH (:Tag {name: $tag})<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(person:Person)
WITH person, count(*) AS messageCount, sum(COUNT { (message)<-[:LIKES]-() }) AS likeCount, sum(COUNT { (message)<-[:REPLY_OF]-() }) AS replyCount
RETURN person.id AS personId, replyCount, likeCount, messageCount, messageCount + 2 * replyCount + 10 * likeCount AS score
ORDER BY score DESC, personId
LIMIT 100
