// IC14: all shortest ways between two persons, weighed by the replies between neighbours on the way.
MATCH (person1:Person {id: $person1Id}), (person2:Person {id: $person2Id})
MATCH path = allShortestPaths((person1)-[:KNOWS*0..]-(person2))
WITH nodes(path) AS persons
UNWIND CASE WHEN size(persons) < 2 THEN [null] ELSE range(0, size(persons) - 2) END AS step
WITH persons, persons[step] AS a, persons[step + 1] AS b
WITH persons,
     COUNT { (a)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(b) }
   + COUNT { (b)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Post)-[:HAS_CREATOR]->(a) } AS toPosts,
     COUNT { (a)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Comment)-[:HAS_CREATOR]->(b) }
   + COUNT { (b)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Comment)-[:HAS_CREATOR]->(a) } AS toComments
WITH persons, sum(toPosts * 1.0 + toComments * 0.5) AS pathWeight
RETURN [person IN persons | person.id] AS personIdsInPath, pathWeight
ORDER BY pathWeight DESC
