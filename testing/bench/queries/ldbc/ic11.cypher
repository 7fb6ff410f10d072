// IC11: friends and friends of friends who began to work in a country before a year.
MATCH (person:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE person <> friend
WITH DISTINCT friend
MATCH (friend)-[works:WORK_AT]->(company:Company)-[:IS_LOCATED_IN]->(:Country {name: $countryName})
WHERE works.workFrom < $workFromYear
RETURN friend.id AS personId, friend.firstName AS personFirstName, friend.lastName AS personLastName,
       company.name AS organizationName, works.workFrom AS organizationWorkFromYear
ORDER BY organizationWorkFromYear, personId, organizationName DESC
LIMIT 10
