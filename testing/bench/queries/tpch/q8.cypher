MATCH (:Part {type: 'ECONOMY ANODIZED STEEL'})<-[:OF_PART]-(ps:PartSupp)<-[:OF_STOCK]-(l:Lineitem)
    -[:OF_ORDER]->(o:Order)-[:PLACED_BY]->(:Customer)
    -[:IN_NATION]->(:Nation)-[:IN_REGION]->(:Region {name: 'AMERICA'}),
    (ps)-[:FROM_SUPPLIER]->(:Supplier)-[:IN_NATION]->(n:Nation)
WHERE date('1995-01-01') <= o.date <= date('1996-12-31')
WITH o.date.year AS year, n.name AS nation, l.extendedprice * (1 - l.discount) AS volume
RETURN year, sum(CASE nation WHEN 'BRAZIL' THEN volume ELSE 0.0 END) / sum(volume) AS mkt_share
ORDER BY year
