// BI 16: persons who wrote about two tags, each on its day, and have few friends who did so on the same day.
UNWIND [[0, $tagA, $dateA], [1, $tagB, $dateB]] AS asked
MATCH (:Tag {name: asked[1]})<-[:HAS_TAG]-(message:Message)-[:HAS_CREATOR]->(person:Person)
WHERE asked[2] <= message.creationDate < asked[2] + 86400000
WITH asked[0] AS side, person, count(*) AS messages
WITH side, collect(person) AS active, collect([person, messages]) AS counted
UNWIND counted AS one
WITH side, active, one[0] AS person, one[1] AS messages
WHERE COUNT { (person)-[:KNOWS]-(friend:Person) WHERE friend IN active } <= $maxKnowsLimit
WITH person, sum(CASE side WHEN 0 THEN messages ELSE 0 END) AS messageCountA, sum(CASE side WHEN 1 THEN messages ELSE 0 END) AS messageCountB
WHERE messageCountA > 0 AND messageCountB > 0
RETURN person.id AS personId, messageCountA, messageCountB
ORDER BY messageCountA + messageCountB DESC, personId
LIMIT 20
