MATCH (o:Order)<-[:OF_ORDER]-(l:Lineitem)
WHERE l.shipmode IN ['MAIL', 'SHIP']
    AND l.commitdate < l.receiptdate AND l.shipdate < l.commitdate
    AND l.receiptdate >= date('1994-01-01') AND l.receiptdate < date('1994-01-01') + duration({years: 1})
RETURN l.shipmode AS shipmode,
    sum(CASE WHEN o.priority IN ['1-URGENT', '2-HIGH'] THEN 1 ELSE 0 END) AS high_line_count,
    sum(CASE WHEN o.priority IN ['1-URGENT', '2-HIGH'] THEN 0 ELSE 1 END) AS low_line_count
ORDER BY shipmode
