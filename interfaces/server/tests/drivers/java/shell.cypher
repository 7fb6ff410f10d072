CREATE (:Person {name: 'Ada', born: date('1815-12-10')})-[:KNOWS {since: 1833}]->(:Person {name: 'Charles'});
MATCH (a:Person)-[k:KNOWS]->(b:Person) RETURN a.name, k.since, b.name;
:begin
CREATE (:Person {name: 'Gone'});
:rollback
MATCH (p:Person) WITH count(*) AS people RETURN 1 / (people - 1) AS one;
:param {x: 41}
RETURN $x + 1 AS answer;
EXPLAIN MATCH (p:Person) RETURN p;
