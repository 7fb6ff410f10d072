MATCH (p:Part)<-[:OF_PART]-(ps:PartSupp)-[:FROM_SUPPLIER]->(s:Supplier)
    -[:IN_NATION]->(n:Nation)-[:IN_REGION]->(:Region {name: 'EUROPE'})
WHERE p.size = 15 AND p.type ENDS WITH 'BRASS'
CALL (p) {
    MATCH (p)<-[:OF_PART]-(other:PartSupp)-[:FROM_SUPPLIER]->(:Supplier)
        -[:IN_NATION]->(:Nation)-[:IN_REGION]->(:Region {name: 'EUROPE'})
    RETURN min(other.supplycost) AS least
}
WITH p, ps, s, n, least
WHERE ps.supplycost = least
RETURN s.acctbal AS acctbal, s.name AS supplier, n.name AS nation, p.key AS partkey, p.mfgr AS mfgr,
    s.address AS address, s.phone AS phone, s.comment AS comment
ORDER BY acctbal DESC, nation, supplier, partkey
LIMIT 100
