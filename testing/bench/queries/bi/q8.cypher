// BI 8: persons by their own score for a tag (100 for interest, 1 a message in a period) and the scores of their friends.
MATCH (tag:Tag {name: $tag})
CALL (tag) {
  MATCH (tag)<-[:HAS_INTEREST]-(person:Person)
  RETURN person, 100 AS points
  UNION ALL
  MATCH (tag)<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(person:Person)
  WHERE $startDate < message.creationDate < $endDate
  RETURN person, 1 AS points
}
WITH person, sum(points) AS score
CALL (person, score) {
  RETURN person AS scored, score AS own, 0 AS ofFriend
  UNION ALL
  MATCH (person)-[:KNOWS]-(scored:Person)
  RETURN scored, 0 AS own, score AS ofFriend
}
WITH scored, sum(own) AS score, sum(ofFriend) AS friendsScore
WHERE score > 0
RETURN scored.id AS personId, score, friendsScore
ORDER BY score + friendsScore DESC, personId
LIMIT 100
