// IC13: number of steps between two persons; -1 where there is no way.
OPTIONAL MATCH (person1:Person {id: $person1Id}), (person2:Person {id: $person2Id})
OPTIONAL MATCH path = shortestPath((person1)-[:KNOWS*0..]-(person2))
RETURN CASE WHEN path IS NULL THEN -1 ELSE length(path) END AS shortestPathLength
