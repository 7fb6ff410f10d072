// CQ4: friends within four steps of whom someone works at a company where the person works.
MATCH (person:Person {id: $personId})-[:WORK_AT]->(company:Company)
WITH person, collect(company) AS companies
MATCH (person)-[:KNOWS]-(friend:Person)
WHERE EXISTS {
  MATCH WALK (friend)-[:KNOWS]-{1,4}(other:Person)
  WHERE EXISTS { MATCH (other)-[:WORK_AT]->(c:Company) WHERE c IN companies }
}
RETURN DISTINCT friend.id AS id LIMIT $n
