WITH point AS (
    SELECT person, 100 AS points FROM tag JOIN interest ON interest.tag = tag.id WHERE tag.name = $tag
    UNION ALL
    SELECT creator, 1
    FROM tag JOIN message_tag ON message_tag.tag = tag.id JOIN message ON message.id = message_tag.message
    WHERE tag.name = $tag AND creation_date > $startDate AND creation_date < $endDate
), scored AS (
    SELECT person, sum(points)::BIGINT AS score FROM point GROUP BY person
)
SELECT own.person, own.score, coalesce(sum(friend.score), 0)::BIGINT AS friends_score
FROM scored own
LEFT JOIN (knows JOIN scored friend ON friend.person = knows.person_2) ON knows.person_1 = own.person
GROUP BY own.person, own.score
ORDER BY own.score + friends_score DESC, own.person
LIMIT 100
