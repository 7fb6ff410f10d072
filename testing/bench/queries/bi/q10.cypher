// BI 10: tags of messages about a class of tags, by persons of a country three or four steps away.
MATCH (start:Person {id: $personId}), (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(expert:Person)
WHERE start <> expert
MATCH path = shortestPath((start)-[:KNOWS*1..4]-(expert))
WITH expert, length(path) AS distance
WHERE distance >= 3
MATCH (expert)<-[:HAS_CREATOR]-(message:Message)-[:HAS_TAG]->(tag:Tag)
WHERE EXISTS { (message)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass {name: $tagClass}) }
RETURN expert.id AS personId, tag.name AS name, count(*) AS messageCount
ORDER BY messageCount DESC, name, personId
LIMIT 100
