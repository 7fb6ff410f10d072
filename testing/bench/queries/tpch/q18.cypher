MATCH (o:Order)<-[:OF_ORDER]-(l:Lineitem)
WITH o, sum(l.quantity) AS quantity
WHERE quantity > 300
MATCH (o)-[:PLACED_BY]->(c:Customer)
RETURN c.name AS name, c.key AS custkey, o.key AS orderkey, o.date AS orderdate, o.totalprice AS totalprice, quantity
ORDER BY totalprice DESC, orderdate
LIMIT 100
