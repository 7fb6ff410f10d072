MATCH (s:Supplier)<-[:FROM_SUPPLIER]-(:PartSupp)<-[:OF_STOCK]-(l:Lineitem)
WHERE l.shipdate >= date('1996-01-01') AND l.shipdate < date('1996-01-01') + duration({months: 3})
WITH s, sum(l.extendedprice * (1 - l.discount)) AS revenue
CALL () {
    MATCH (t:Supplier)<-[:FROM_SUPPLIER]-(:PartSupp)<-[:OF_STOCK]-(l:Lineitem)
    WHERE l.shipdate >= date('1996-01-01') AND l.shipdate < date('1996-01-01') + duration({months: 3})
    WITH t, sum(l.extendedprice * (1 - l.discount)) AS revenue
    RETURN max(revenue) AS best
}
WITH s, revenue, best
WHERE revenue = best
RETURN s.key AS suppkey, s.name AS name, s.address AS address, s.phone AS phone, revenue
ORDER BY suppkey
