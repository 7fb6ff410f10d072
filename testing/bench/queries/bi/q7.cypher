// BI 7: tags of replies to messages with a tag, where the reply does not have that tag itself.
MATCH (tag:Tag {name: $tag})<-[:HAS_TAG]-(:Message)<-[:REPLY_OF]-(reply:Comment)-[:HAS_TAG]->(related:Tag)
WHERE NOT EXISTS { (reply)-[:HAS_TAG]->(tag) }
RETURN related.name AS name, count(*) AS replies
ORDER BY replies DESC, name
LIMIT 100
