// Friends who answered each other's messages: the more answers, the nearer. BI 19 walks over these relationships; they depend on no
// parameter, so they are stored once, after the import.
MATCH (a:Person)<-[:HAS_CREATOR]-(:Comment)-[:REPLY_OF]->(:Message)-[:HAS_CREATOR]->(b:Person)
WITH a, b, count(*) AS answers
MATCH (a)-[friendship:KNOWS]-(b)
WITH friendship, sum(answers) AS answers
MATCH (a)-[friendship]->(b)
CREATE (a)-[:INTERACTED {weight: 1.0 / answers}]->(b)
