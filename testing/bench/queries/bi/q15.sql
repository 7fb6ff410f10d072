WITH RECURSIVE score AS (
    SELECT least(reply.creator, message.creator) AS a, greatest(reply.creator, message.creator) AS b,
           sum(CASE WHEN message.is_comment THEN 0.5e0 ELSE 1e0 END) AS points
    FROM forum JOIN message ON message.root_forum = forum.id JOIN message reply ON reply.parent = message.id
    WHERE forum.creation_date >= $startDate AND forum.creation_date <= $endDate
    GROUP BY ALL
), edge AS MATERIALIZED (
    SELECT person_1, person_2, 1 / (coalesce(points, 0) + 1) AS weight
    FROM knows LEFT JOIN score ON a = least(person_1, person_2) AND b = greatest(person_1, person_2)
), reached(person, cost) USING KEY (person) AS (
    SELECT $person1Id::BIGINT, 0e0
    UNION
    SELECT person_2, min(reached.cost + weight)
    FROM reached JOIN edge ON edge.person_1 = reached.person
    GROUP BY person_2
    HAVING min(reached.cost + weight) < coalesce((SELECT known.cost FROM recurring.reached known WHERE known.person = person_2), 1e300)
)
SELECT coalesce(min(cost), -1) AS weight FROM reached WHERE person = $person2Id
