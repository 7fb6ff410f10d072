MATCH (s:Supplier)-[:IN_NATION]->(:Nation {name: 'CANADA'})
WHERE EXISTS {
    MATCH (s)<-[:FROM_SUPPLIER]-(ps:PartSupp)-[:OF_PART]->(p:Part), (ps)<-[:OF_STOCK]-(l:Lineitem)
    WHERE p.name STARTS WITH 'forest'
        AND l.shipdate >= date('1994-01-01') AND l.shipdate < date('1994-01-01') + duration({years: 1})
    WITH ps, sum(l.quantity) AS shipped
    WHERE ps.availqty > 0.5 * shipped
    RETURN ps
}
RETURN s.name AS name, s.address AS address
ORDER BY name
