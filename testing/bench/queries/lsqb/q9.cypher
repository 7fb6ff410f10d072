// Q9: interests of friends of friends who are no friends.
MATCH (person1:Person)-[:KNOWS]-(person2:Person)-[:KNOWS]-(person3:Person)-[:HAS_INTEREST]->(tag:Tag)
WHERE NOT EXISTS { (person1)-[:KNOWS]-(person3) } AND person1 <> person3
RETURN count(*)
