// IU8: two persons become friends.
MATCH (person1:Person {id: $person1Id}), (person2:Person {id: $person2Id})
CREATE (person1)-[:KNOWS {creationDate: $creationDate}]->(person2)
