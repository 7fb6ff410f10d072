MATCH (:Customer {mktsegment: 'BUILDING'})<-[:PLACED_BY]-(o:Order)<-[:OF_ORDER]-(l:Lineitem)
WHERE o.date < date('1995-03-15') AND l.shipdate > date('1995-03-15')
RETURN o.key AS orderkey, sum(l.extendedprice * (1 - l.discount)) AS revenue,
    o.date AS orderdate, o.shippriority AS shippriority
ORDER BY revenue DESC, orderdate
LIMIT 10
