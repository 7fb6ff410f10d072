MATCH (c:Customer)
OPTIONAL MATCH (c)<-[:PLACED_BY]-(o:Order) WHERE NOT o.comment =~ '.*special.*requests.*'
WITH c, count(o) AS order_count
RETURN order_count, count(*) AS custdist
ORDER BY custdist DESC, order_count DESC
