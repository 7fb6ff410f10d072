// CQ6: persons exactly five steps away, over persons each of whom wrote a message about a country.
MATCH WALK (person:Person {id: $personId})
  ((a)-[:KNOWS]-(b:Person) WHERE EXISTS { MATCH (b)<-[:HAS_CREATOR]-()-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(class:TagClass) WHERE class.name CONTAINS 'Country' }){5}
  (friend:Person)
RETURN DISTINCT friend.id AS id LIMIT $n
