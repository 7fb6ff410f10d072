SELECT year(epoch_ms(creation_date)) AS year, is_comment,
       CASE WHEN length < 40 THEN 0 WHEN length < 80 THEN 1 WHEN length < 160 THEN 2 ELSE 3 END AS length_category,
       count(*) AS message_count, avg(length) AS average_length, sum(length)::BIGINT AS sum_length,
       100e0 * count(*) / sum(count(*)) OVER () AS percentage
FROM message
WHERE creation_date < $datetime
GROUP BY ALL
ORDER BY year DESC, is_comment, length_category
