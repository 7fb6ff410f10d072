WITH pair AS (
    SELECT person_1, person_2, city_1.id AS city, city_1.name AS city_name
    FROM place country_1
    JOIN place city_1 ON city_1.part_of = country_1.id
    JOIN person one ON one.city = city_1.id
    JOIN knows ON knows.person_1 = one.id
    JOIN person two ON two.id = knows.person_2
    JOIN place city_2 ON city_2.id = two.city
    JOIN place country_2 ON country_2.id = city_2.part_of
    WHERE country_1.name = $country1 AND country_1.type = 'country' AND country_2.name = $country2 AND country_2.type = 'country'
), replied AS (
    SELECT DISTINCT reply.creator AS replier, message.creator AS author
    FROM message reply JOIN message ON message.id = reply.parent
    WHERE reply.creator IN (SELECT person_1 FROM pair UNION ALL SELECT person_2 FROM pair)
), liked AS (
    SELECT DISTINCT likes.person AS liker, message.creator AS author
    FROM likes JOIN message ON message.id = likes.message
    WHERE likes.person IN (SELECT person_1 FROM pair UNION ALL SELECT person_2 FROM pair)
), scored AS (
    SELECT *,
           CASE WHEN (person_1, person_2) IN (SELECT (replier, author) FROM replied) THEN 4 ELSE 0 END
         + CASE WHEN (person_2, person_1) IN (SELECT (replier, author) FROM replied) THEN 1 ELSE 0 END
         + CASE WHEN (person_1, person_2) IN (SELECT (liker, author) FROM liked) THEN 10 ELSE 0 END
         + CASE WHEN (person_2, person_1) IN (SELECT (liker, author) FROM liked) THEN 1 ELSE 0 END AS score
    FROM pair
)
SELECT person_1, person_2, city_name, score
FROM scored
QUALIFY row_number() OVER (PARTITION BY city ORDER BY score DESC, person_1, person_2) = 1
ORDER BY score DESC, person_1, person_2
