MATCH (c:Customer)
WHERE left(c.phone, 2) IN ['13', '31', '23', '29', '30', '18', '17']
    AND NOT EXISTS { (c)<-[:PLACED_BY]-(:Order) }
CALL () {
    MATCH (other:Customer)
    WHERE other.acctbal > 0.0 AND left(other.phone, 2) IN ['13', '31', '23', '29', '30', '18', '17']
    RETURN avg(other.acctbal) AS average
}
WITH c, average
WHERE c.acctbal > average
RETURN left(c.phone, 2) AS country_code, count(*) AS customers, sum(c.acctbal) AS total
ORDER BY country_code
