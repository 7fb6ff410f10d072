WITH RECURSIVE reached(person, distance) USING KEY (person) AS (
    SELECT $personId::BIGINT, 0
    UNION
    SELECT knows.person_2, min(reached.distance) + 1
    FROM reached JOIN knows ON knows.person_1 = reached.person
    WHERE reached.distance < 4 AND knows.person_2 NOT IN (SELECT person FROM recurring.reached)
    GROUP BY knows.person_2
), written AS (
    SELECT message.id, creator
    FROM reached
    JOIN person ON person.id = reached.person
    JOIN place city ON city.id = person.city
    JOIN place country ON country.id = city.part_of
    JOIN message ON message.creator = person.id
    WHERE distance BETWEEN 3 AND 4 AND country.name = $country AND country.type = 'country'
      AND message.id IN (
        SELECT message FROM message_tag JOIN tag ON tag.id = message_tag.tag JOIN tag_class ON tag_class.id = tag.class
        WHERE tag_class.name = $tagClass)
)
SELECT creator, tag.name, count(*) AS message_count
FROM written JOIN message_tag ON message_tag.message = written.id JOIN tag ON tag.id = message_tag.tag
GROUP BY creator, tag.name
ORDER BY message_count DESC, tag.name, creator
LIMIT 100
