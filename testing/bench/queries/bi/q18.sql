WITH interested AS (
    SELECT person FROM tag JOIN interest ON interest.tag = tag.id WHERE tag.name = $tag
)
SELECT k1.person_1 AS person_1, k2.person_2 AS person_2, count(*) AS mutual_friend_count
FROM knows k1 JOIN knows k2 ON k2.person_1 = k1.person_2
WHERE k1.person_1 IN (SELECT person FROM interested) AND k2.person_2 IN (SELECT person FROM interested)
  AND k1.person_1 <> k2.person_2
  AND NOT EXISTS (SELECT 1 FROM knows WHERE knows.person_1 = k1.person_1 AND knows.person_2 = k2.person_2)
GROUP BY ALL
ORDER BY mutual_friend_count DESC, 1, 2
LIMIT 20
