MATCH (o:Order)
WHERE o.date >= date('1993-07-01') AND o.date < date('1993-07-01') + duration({months: 3})
    AND EXISTS { MATCH (o)<-[:OF_ORDER]-(l:Lineitem) WHERE l.commitdate < l.receiptdate }
RETURN o.priority AS priority, count(*) AS order_count
ORDER BY priority
