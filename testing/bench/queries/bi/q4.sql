WITH popular AS (
    SELECT forum, max(members) AS size
    FROM (
        SELECT forum.id AS forum, city.part_of AS country, count(*) AS members
        FROM forum
        JOIN forum_member ON forum_member.forum = forum.id
        JOIN person ON person.id = forum_member.person
        JOIN place city ON city.id = person.city
        WHERE forum.creation_date > $date
        GROUP BY ALL)
    GROUP BY forum
    ORDER BY size DESC, forum
    LIMIT 100
), member AS (
    SELECT DISTINCT person FROM popular JOIN forum_member USING (forum)
), counted AS (
    SELECT creator, count(*) AS message_count FROM popular JOIN message ON message.root_forum = popular.forum GROUP BY creator
)
SELECT person.id, first_name, last_name, creation_date, coalesce(message_count, 0) AS message_count
FROM member JOIN person ON person.id = member.person LEFT JOIN counted ON counted.creator = person.id
ORDER BY message_count DESC, person.id
LIMIT 100
