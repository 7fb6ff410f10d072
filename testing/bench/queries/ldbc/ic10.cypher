// IC10: friends of friends born around a month's turn, by how their posts match the start person's interests.
MATCH (person:Person {id: $personId})-[:KNOWS*2..2]-(friend:Person)
WHERE friend <> person AND NOT EXISTS { (friend)-[:KNOWS]-(person) }
WITH DISTINCT person, friend, datetime({epochMillis: friend.birthday}) AS birthday
WHERE (birthday.month = $month AND birthday.day >= 21) OR (birthday.month = ($month % 12) + 1 AND birthday.day < 22)
MATCH (friend)-[:IS_LOCATED_IN]->(city:City)
WITH person, friend, city,
     COUNT { (friend)<-[:HAS_CREATOR]-(:Post) } AS posts,
     COUNT { (friend)<-[:HAS_CREATOR]-(post:Post) WHERE EXISTS { (post)-[:HAS_TAG]->(:Tag)<-[:HAS_INTEREST]-(person) } } AS common
RETURN friend.id AS personId, friend.firstName AS personFirstName, friend.lastName AS personLastName,
       common - (posts - common) AS commonInterestScore, friend.gender AS personGender, city.name AS personCityName
ORDER BY commonInterestScore DESC, personId
LIMIT 10
