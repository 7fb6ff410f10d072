MATCH (l:Lineitem)
WHERE l.shipdate >= date('1994-01-01') AND l.shipdate < date('1994-01-01') + duration({years: 1})
    AND 0.05 <= l.discount <= 0.07 AND l.quantity < 24
RETURN sum(l.extendedprice * l.discount) AS revenue
