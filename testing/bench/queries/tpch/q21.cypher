MATCH (:Nation {name: 'SAUDI ARABIA'})<-[:IN_NATION]-(s:Supplier)<-[:FROM_SUPPLIER]-(:PartSupp)
    <-[:OF_STOCK]-(l:Lineitem)-[:OF_ORDER]->(o:Order {status: 'F'})
WHERE l.receiptdate > l.commitdate
    AND EXISTS {
        MATCH (o)<-[:OF_ORDER]-(:Lineitem)-[:OF_STOCK]->(:PartSupp)-[:FROM_SUPPLIER]->(other)
        WHERE other <> s
    }
    AND NOT EXISTS {
        MATCH (o)<-[:OF_ORDER]-(late:Lineitem)-[:OF_STOCK]->(:PartSupp)-[:FROM_SUPPLIER]->(other)
        WHERE other <> s AND late.receiptdate > late.commitdate
    }
RETURN s.name AS name, count(*) AS numwait
ORDER BY numwait DESC, name
LIMIT 100
