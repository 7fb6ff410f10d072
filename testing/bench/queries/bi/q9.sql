WITH counted AS (
    SELECT post.creator AS initiator, count(*) FILTER (NOT message.is_comment) AS thread_count, count(*) AS message_count
    FROM message post JOIN message ON message.root = post.id
    WHERE NOT post.is_comment AND post.creation_date >= $startDate AND post.creation_date <= $endDate
      AND message.creation_date >= $startDate AND message.creation_date <= $endDate
    GROUP BY post.creator
)
SELECT person.id, first_name, last_name, thread_count, message_count
FROM counted JOIN person ON person.id = initiator
ORDER BY message_count DESC, person.id
LIMIT 100
