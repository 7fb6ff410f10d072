// CQ5: as CQ2, but only those who wrote a message about a country.
MATCH (person:Person {id: $personId})-[:WORK_AT]->(company:Company)
WITH person, collect(company) AS companies
MATCH WALK (person)-[:KNOWS]-{1,5}(friend:Person)
WITH DISTINCT friend, companies
WHERE EXISTS { MATCH (friend)-[:WORK_AT]->(c:Company) WHERE c IN companies }
  AND EXISTS { MATCH (friend)<-[:HAS_CREATOR]-()-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(class:TagClass) WHERE class.name CONTAINS 'Country' }
RETURN friend.id AS id LIMIT $n
