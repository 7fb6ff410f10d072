MATCH (l:Lineitem)-[:OF_STOCK]->(:PartSupp)-[:OF_PART]->(p:Part)
WHERE l.shipdate >= date('1995-09-01') AND l.shipdate < date('1995-09-01') + duration({months: 1})
WITH p.type AS type, l.extendedprice * (1 - l.discount) AS volume
RETURN 100.0 * sum(CASE WHEN type STARTS WITH 'PROMO' THEN volume ELSE 0.0 END) / sum(volume) AS promo_revenue
