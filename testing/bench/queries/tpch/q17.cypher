MATCH (p:Part {brand: 'Brand#23', container: 'MED BOX'})<-[:OF_PART]-(:PartSupp)<-[:OF_STOCK]-(l:Lineitem)
CALL (p) {
    MATCH (p)<-[:OF_PART]-(:PartSupp)<-[:OF_STOCK]-(m:Lineitem)
    RETURN 0.2 * avg(m.quantity) AS few
}
WITH l, few
WHERE l.quantity < few
RETURN sum(l.extendedprice) / 7.0 AS avg_yearly
