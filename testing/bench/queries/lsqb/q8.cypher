// Q8: tags of a message that its reply does not have, and the reply's tags.
MATCH (tag1:Tag)<-[:HAS_TAG]-(message:Message)<-[:REPLY_OF]-(comment:Comment)-[:HAS_TAG]->(tag2:Tag)
WHERE NOT EXISTS { (comment)-[:HAS_TAG]->(tag1) } AND tag1 <> tag2
RETURN count(*)
