WITH counted AS (
    SELECT forum.id AS forum, count(*) AS message_count
    FROM place country
    JOIN place city ON city.part_of = country.id
    JOIN person ON person.city = city.id
    JOIN forum ON forum.moderator = person.id
    JOIN message ON message.root_forum = forum.id
    WHERE country.name = $country AND country.type = 'country'
      AND message.id IN (
        SELECT message FROM message_tag JOIN tag ON tag.id = message_tag.tag JOIN tag_class ON tag_class.id = tag.class
        WHERE tag_class.name = $tagClass)
    GROUP BY forum.id
)
SELECT forum.id, title, creation_date, moderator, message_count
FROM counted JOIN forum ON forum.id = counted.forum
ORDER BY message_count DESC, forum.id
LIMIT 20
