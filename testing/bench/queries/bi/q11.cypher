// BI 11: triangles of friends within a country whose friendships began in a period.
MATCH (country:Country {name: $country})
MATCH (a:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
MATCH (b:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
MATCH (c:Person)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(country)
MATCH (a)-[k1:KNOWS]-(b)-[k2:KNOWS]-(c)-[k3:KNOWS]-(a)
WHERE a.id < b.id AND b.id < c.id
  AND $startDate <= k1.creationDate <= $endDate AND $startDate <= k2.creationDate <= $endDate AND $startDate <= k3.creationDate <= $endDate
RETURN count(*) AS triangles
