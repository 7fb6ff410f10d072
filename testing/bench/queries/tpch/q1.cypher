MATCH (l:Lineitem)
WHERE l.shipdate <= date('1998-12-01') - duration({days: 90})
RETURN l.returnflag AS returnflag, l.linestatus AS linestatus,
    sum(l.quantity) AS sum_qty, sum(l.extendedprice) AS sum_base_price,
    sum(l.extendedprice * (1 - l.discount)) AS sum_disc_price,
    sum(l.extendedprice * (1 - l.discount) * (1 + l.tax)) AS sum_charge,
    avg(l.quantity) AS avg_qty, avg(l.extendedprice) AS avg_price, avg(l.discount) AS avg_disc,
    count(*) AS count_order
ORDER BY returnflag, linestatus
