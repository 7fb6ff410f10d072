// BI 14: for each city of a country, the pair of friends there and in another country that has most to do with each other.
MATCH (:Country {name: $country1})<-[:IS_PART_OF]-(city:City)<-[:IS_LOCATED_IN]-(person1:Person)-[:KNOWS]-(person2:Person)
      -[:IS_LOCATED_IN]->(:City)-[:IS_PART_OF]->(:Country {name: $country2})
WITH city, person1, person2,
     CASE WHEN EXISTS { (person1)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Message)-[:HAS_CREATOR]->(person2) } THEN 4 ELSE 0 END
   + CASE WHEN EXISTS { (person1)<-[:HAS_CREATOR]-(:Message)<-[:REPLY_OF]-(:Comment)-[:HAS_CREATOR]->(person2) } THEN 1 ELSE 0 END
   + CASE WHEN EXISTS { (person1)-[:LIKES]->(:Message)-[:HAS_CREATOR]->(person2) } THEN 10 ELSE 0 END
   + CASE WHEN EXISTS { (person1)<-[:HAS_CREATOR]-(:Message)<-[:LIKES]-(person2) } THEN 1 ELSE 0 END AS score
ORDER BY score DESC, person1.id, person2.id
WITH city, collect([person1.id, person2.id, score])[0] AS top
RETURN top[0] AS person1Id, top[1] AS person2Id, city.name AS cityName, top[2] AS score
ORDER BY score DESC, person1Id, person2Id
