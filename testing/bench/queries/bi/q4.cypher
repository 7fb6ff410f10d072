// BI 4: members of the 100 forums that are most popular in any one country, by how many messages they wrote in those forums.
MATCH (country:Country)<-[:IS_PART_OF]-(:City)<-[:IS_LOCATED_IN]-(member:Person)<-[:HAS_MEMBER]-(forum:Forum)
WHERE forum.creationDate > $date
WITH forum, country, count(*) AS members
WITH forum, max(members) AS size
ORDER BY size DESC, forum.id
LIMIT 100
WITH collect(forum) AS forums
CALL (forums) {
  UNWIND forums AS forum
  MATCH (forum)-[:HAS_MEMBER]->(person:Person)
  RETURN person, 1 AS membership, 0 AS messages
  UNION ALL
  UNWIND forums AS forum
  MATCH (forum)-[:CONTAINER_OF]->(:Post)<-[:REPLY_OF*0..]-(:Message)-[:HAS_CREATOR]->(person:Person)
  RETURN person, 0 AS membership, 1 AS messages
}
WITH person, sum(membership) AS memberships, sum(messages) AS messageCount
WHERE memberships > 0
RETURN person.id AS personId, person.firstName AS firstName, person.lastName AS lastName, person.creationDate AS creationDate, messageCount
ORDER BY messageCount DESC, personId
LIMIT 100
