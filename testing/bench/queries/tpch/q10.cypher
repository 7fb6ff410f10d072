MATCH (n:Nation)<-[:IN_NATION]-(c:Customer)<-[:PLACED_BY]-(o:Order)<-[:OF_ORDER]-(l:Lineitem)
WHERE o.date >= date('1993-10-01') AND o.date < date('1993-10-01') + duration({months: 3})
    AND l.returnflag = 'R'
RETURN c.key AS custkey, c.name AS name, sum(l.extendedprice * (1 - l.discount)) AS revenue,
    c.acctbal AS acctbal, n.name AS nation, c.address AS address, c.phone AS phone, c.comment AS comment
ORDER BY revenue DESC
LIMIT 20
