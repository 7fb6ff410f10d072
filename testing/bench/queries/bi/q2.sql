WITH counted AS (
    SELECT tag.name,
           count(*) FILTER (creation_date < $date + 8640000000) AS count_window_1,
           count(*) FILTER (creation_date >= $date + 8640000000) AS count_window_2
    FROM tag_class
    JOIN tag ON tag.class = tag_class.id
    JOIN message_tag ON message_tag.tag = tag.id
    JOIN message ON message.id = message_tag.message
    WHERE tag_class.name = $tagClass AND creation_date >= $date AND creation_date < $date + 2 * 8640000000
    GROUP BY tag.id, tag.name
)
SELECT *, abs(count_window_1 - count_window_2) AS diff FROM counted ORDER BY diff DESC, name LIMIT 100
