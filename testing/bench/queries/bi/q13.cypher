// BI 13: persons of a country who write less than one message a month, by the share of their likes that comes from each other.
MATCH (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(zombie:Person)
WHERE zombie.creationDate < $endDate
OPTIONAL MATCH (zombie)<-[:HAS_CREATOR]-(message:Message)
WHERE message.creationDate < $endDate
WITH zombie, count(message) AS messageCount, datetime({epochMillis: zombie.creationDate}) AS since, datetime({epochMillis: $endDate}) AS until
WHERE messageCount < 12 * (until.year - since.year) + until.month - since.month + 1
WITH collect(zombie) AS zombies
UNWIND zombies AS zombie
OPTIONAL MATCH (zombie)<-[:HAS_CREATOR]-(:Message)<-[:LIKES]-(liker:Person)
WHERE liker.creationDate < $endDate
WITH zombie, count(CASE WHEN liker IN zombies THEN 1 END) AS zombieLikeCount, count(liker) AS totalLikeCount
RETURN zombie.id AS personId, zombieLikeCount, totalLikeCount,
       CASE totalLikeCount WHEN 0 THEN 0.0 ELSE toFloat(zombieLikeCount) / totalLikeCount END AS zombieScore
ORDER BY zombieScore DESC, personId
LIMIT 100
