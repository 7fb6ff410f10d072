WITH asked(side, name, date) AS (
    VALUES ('A', $tagA, $dateA), ('B', $tagB, $dateB)
), active AS (
    SELECT side, creator AS person, count(*) AS messages
    FROM asked
    JOIN tag ON tag.name = asked.name
    JOIN message_tag ON message_tag.tag = tag.id
    JOIN message ON message.id = message_tag.message
    WHERE creation_date >= asked.date AND creation_date < asked.date + 86400000
    GROUP BY side, creator
), few AS (
    SELECT own.side, own.person, own.messages
    FROM active own
    LEFT JOIN (knows JOIN active friend ON friend.person = knows.person_2)
        ON knows.person_1 = own.person AND friend.side = own.side
    GROUP BY ALL
    HAVING count(friend.person) <= $maxKnowsLimit
)
SELECT person, a.messages AS message_count_a, b.messages AS message_count_b
FROM few a JOIN few b USING (person)
WHERE a.side = 'A' AND b.side = 'B'
ORDER BY message_count_a + message_count_b DESC, person
LIMIT 20
