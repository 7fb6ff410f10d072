// CQ2: persons within five steps who work at a company where the person works.
MATCH (person:Person {id: $personId})-[:WORK_AT]->(company:Company)
WITH person, collect(company) AS companies
MATCH WALK (person)-[:KNOWS]-{1,5}(friend:Person)
WHERE EXISTS { MATCH (friend)-[:WORK_AT]->(c:Company) WHERE c IN companies }
RETURN DISTINCT friend.id AS id LIMIT $n
