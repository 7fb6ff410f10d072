WITH counted AS (
    SELECT creator, count(*) AS message_count
    FROM message
    WHERE has_content AND length < $lengthThreshold AND creation_date > $startDate
      AND root_language IN (SELECT unnest($languages))
    GROUP BY creator
)
SELECT coalesce(message_count, 0) AS message_count, count(*) AS person_count
FROM person LEFT JOIN counted ON counted.creator = person.id
GROUP BY ALL
ORDER BY person_count DESC, message_count DESC
