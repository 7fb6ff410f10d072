// BI 20: employees of a company who are nearest to a person over friends who studied together, by the years between them.
// The weights depend on no parameter: they are stored on STUDIED once, as the benchmark allows.
MATCH (person2:Person {id: $person2Id})
CALL graph.sssp({source: person2, weight: 'weight', types: 'STUDIED', direction: 'both'}) YIELD node, distance
WITH node AS person1, distance
WHERE EXISTS { (person1)-[:WORK_AT]->(:Company {name: $company}) }
WITH collect([person1.id, distance]) AS found, min(distance) AS least
UNWIND found AS one
WITH one, least
WHERE one[1] = least
RETURN one[0] AS personId, toInteger(one[1]) AS totalWeight
ORDER BY totalWeight, personId
LIMIT 20
