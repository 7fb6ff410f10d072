MATCH (p:Part)<-[:OF_PART]-(:PartSupp)-[:FROM_SUPPLIER]->(s:Supplier)
WHERE p.brand <> 'Brand#45' AND NOT p.type STARTS WITH 'MEDIUM POLISHED'
    AND p.size IN [49, 14, 23, 45, 19, 3, 36, 9]
    AND NOT s.comment =~ '.*Customer.*Complaints.*'
RETURN p.brand AS brand, p.type AS type, p.size AS size, count(DISTINCT s) AS supplier_count
ORDER BY supplier_count DESC, brand, type, size
