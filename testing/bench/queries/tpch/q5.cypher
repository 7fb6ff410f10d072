MATCH (c:Customer)<-[:PLACED_BY]-(o:Order)<-[:OF_ORDER]-(l:Lineitem)
    -[:OF_STOCK]->(:PartSupp)-[:FROM_SUPPLIER]->(s:Supplier),
    (c)-[:IN_NATION]->(n:Nation)<-[:IN_NATION]-(s),
    (n)-[:IN_REGION]->(:Region {name: 'ASIA'})
WHERE o.date >= date('1994-01-01') AND o.date < date('1994-01-01') + duration({years: 1})
RETURN n.name AS nation, sum(l.extendedprice * (1 - l.discount)) AS revenue
ORDER BY revenue DESC
