// BI 3: forums whose moderator lives in a country, by their messages that have a tag of a class.
MATCH (:Country {name: $country})<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(person:Person)<-[:HAS_MODERATOR]-(forum:Forum)
      -[:CONTAINER_OF]->(:Post)<-[:REPLY_OF*0..]-(message:Message)-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(:TagClass {name: $tagClass})
WITH forum, person, count(DISTINCT message) AS messageCount
RETURN forum.id AS forumId, forum.title AS title, forum.creationDate AS creationDate, person.id AS personId, messageCount
ORDER BY messageCount DESC, forumId
LIMIT 20
