MATCH (l:Lineitem)-[:OF_STOCK]->(:PartSupp)-[:OF_PART]->(p:Part)
WHERE l.shipmode IN ['AIR', 'AIR REG'] AND l.shipinstruct = 'DELIVER IN PERSON'
    AND (
        p.brand = 'Brand#12' AND p.container IN ['SM CASE', 'SM BOX', 'SM PACK', 'SM PKG']
        AND 1 <= l.quantity <= 11 AND 1 <= p.size <= 5
        OR p.brand = 'Brand#23' AND p.container IN ['MED BAG', 'MED BOX', 'MED PKG', 'MED PACK']
        AND 10 <= l.quantity <= 20 AND 1 <= p.size <= 10
        OR p.brand = 'Brand#34' AND p.container IN ['LG CASE', 'LG BOX', 'LG PACK', 'LG PKG']
        AND 20 <= l.quantity <= 30 AND 1 <= p.size <= 15
    )
RETURN sum(l.extendedprice * (1 - l.discount)) AS revenue
