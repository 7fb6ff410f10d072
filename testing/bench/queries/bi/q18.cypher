// BI 18: pairs of persons who are interested in a tag and do not know each other, by their mutual friends.
MATCH (tag:Tag {name: $tag})<-[:HAS_INTEREST]-(person1:Person)-[:KNOWS]-(mutual:Person)-[:KNOWS]-(person2:Person)-[:HAS_INTEREST]->(tag)
WHERE person1 <> person2 AND NOT EXISTS { (person1)-[:KNOWS]-(person2) }
RETURN person1.id AS person1Id, person2.id AS person2Id, count(*) AS mutualFriendCount
ORDER BY mutualFriendCount DESC, person1Id, person2Id
LIMIT 20
