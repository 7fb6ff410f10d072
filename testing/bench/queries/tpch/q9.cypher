MATCH (p:Part)<-[:OF_PART]-(ps:PartSupp)<-[:OF_STOCK]-(l:Lineitem)-[:OF_ORDER]->(o:Order),
    (ps)-[:FROM_SUPPLIER]->(:Supplier)-[:IN_NATION]->(n:Nation)
WHERE p.name CONTAINS 'green'
RETURN n.name AS nation, o.date.year AS year,
    sum(l.extendedprice * (1 - l.discount) - ps.supplycost * l.quantity) AS sum_profit
ORDER BY nation, year DESC
