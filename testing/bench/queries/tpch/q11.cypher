MATCH (:Nation {name: 'GERMANY'})<-[:IN_NATION]-(:Supplier)<-[:FROM_SUPPLIER]-(ps:PartSupp)-[:OF_PART]->(p:Part)
WITH p, sum(ps.supplycost * ps.availqty) AS value
CALL () {
    MATCH (:Nation {name: 'GERMANY'})<-[:IN_NATION]-(:Supplier)<-[:FROM_SUPPLIER]-(ps:PartSupp)
    RETURN sum(ps.supplycost * ps.availqty) AS total
}
WITH p, value, total
WHERE value > total * $fraction
RETURN p.key AS partkey, value
ORDER BY value DESC
