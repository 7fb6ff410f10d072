// Friends who were at the same university: the fewer years between them, the nearer. BI 20 walks over these relationships; they depend
// on no parameter, so they are stored once, after the import.
MATCH (a:Person)-[:KNOWS]->(b:Person)
MATCH (a)-[x:STUDY_AT]->(:University)<-[y:STUDY_AT]-(b)
WITH a, b, min(abs(x.classYear - y.classYear)) + 1 AS weight
CREATE (a)-[:STUDIED {weight: weight}]->(b)
