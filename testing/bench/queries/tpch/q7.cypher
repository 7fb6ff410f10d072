MATCH (n1:Nation)<-[:IN_NATION]-(:Supplier)<-[:FROM_SUPPLIER]-(:PartSupp)<-[:OF_STOCK]-(l:Lineitem)
    -[:OF_ORDER]->(:Order)-[:PLACED_BY]->(:Customer)-[:IN_NATION]->(n2:Nation)
WHERE (n1.name = 'FRANCE' AND n2.name = 'GERMANY' OR n1.name = 'GERMANY' AND n2.name = 'FRANCE')
    AND date('1995-01-01') <= l.shipdate <= date('1996-12-31')
RETURN n1.name AS supp_nation, n2.name AS cust_nation, l.shipdate.year AS year,
    sum(l.extendedprice * (1 - l.discount)) AS revenue
ORDER BY supp_nation, cust_nation, year
