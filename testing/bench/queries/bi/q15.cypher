// BI 15: the cost of the cheapest way between two persons over friends, who are nearer the more they answered each other in forums that
// began in a period. The weights depend on the period: they are written on the friendships for this question, and taken away again.
CALL {
  MATCH (forum:Forum)-[:CONTAINER_OF]->(:Post)<-[:REPLY_OF*0..]-(message:Message)<-[:REPLY_OF]-(reply:Comment)
  WHERE $startDate <= forum.creationDate <= $endDate
  MATCH (message)-[:HAS_CREATOR]->(a:Person), (reply)-[:HAS_CREATOR]->(b:Person)
  WITH a, b, sum(CASE WHEN message:Post THEN 1.0 ELSE 0.5 END) AS points
  MATCH (a)-[friendship:KNOWS]-(b)
  RETURN friendship, points
  UNION ALL
  MATCH (:Person)-[friendship:KNOWS]->(:Person)
  RETURN friendship, 0.0 AS points
}
WITH friendship, sum(points) AS points
SET friendship.cost = 1 / (points + 1)
WITH collect(friendship) AS friendships
MATCH (person1:Person {id: $person1Id}), (person2:Person {id: $person2Id})
OPTIONAL CALL graph.cheapestPath({source: person1, target: person2, weight: 'cost', types: 'KNOWS', direction: 'both'}) YIELD cost
WITH friendships, coalesce(cost, -1.0) AS weight
FOREACH (friendship IN friendships | REMOVE friendship.cost)
RETURN weight
