// IC3: friends and friends of friends who wrote from both of two foreign countries within a period.
MATCH (countryX:Country {name: $countryXName}), (countryY:Country {name: $countryYName})
MATCH (person:Person {id: $personId})-[:KNOWS*1..2]-(friend:Person)
WHERE person <> friend
WITH DISTINCT countryX, countryY, friend
MATCH (friend)-[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(home:Country)
WHERE home <> countryX AND home <> countryY
MATCH (friend)<-[:HAS_CREATOR]-(message:Message)-[:IS_LOCATED_IN]->(country:Country)
WHERE message.creationDate >= $startDate AND message.creationDate < $endDate
  AND (country = countryX OR country = countryY)
WITH friend, sum(CASE WHEN country = countryX THEN 1 ELSE 0 END) AS xCount,
     sum(CASE WHEN country = countryY THEN 1 ELSE 0 END) AS yCount
WHERE xCount > 0 AND yCount > 0
RETURN friend.id AS friendId, friend.firstName AS friendFirstName, friend.lastName AS friendLastName,
       xCount, yCount, xCount + yCount AS count
ORDER BY count DESC, friendId
LIMIT 20
