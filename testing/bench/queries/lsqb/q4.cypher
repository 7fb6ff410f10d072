// Q4: messages by tags, authors, likes and replies.
MATCH (:Tag)<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(creator:Person), (message)<-[:LIKES]-(liker:Person), (message)<-[:REPLY_OF]-(comment:Comment)
RETURN count(*)
