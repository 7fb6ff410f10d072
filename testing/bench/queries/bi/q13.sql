WITH inhabitant AS (
    SELECT person.id, 12 * (year(epoch_ms($endDate::BIGINT)) - year(epoch_ms(creation_date)))
           + month(epoch_ms($endDate::BIGINT)) - month(epoch_ms(creation_date)) + 1 AS months
    FROM person JOIN place city ON city.id = person.city JOIN place country ON country.id = city.part_of
    WHERE country.name = $country AND country.type = 'country' AND creation_date < $endDate
), zombie AS (
    SELECT inhabitant.id
    FROM inhabitant LEFT JOIN message ON message.creator = inhabitant.id AND message.creation_date < $endDate
    GROUP BY inhabitant.id, months
    HAVING count(message.id) < months
), counted AS (
    SELECT message.creator, count(*) AS total, count(*) FILTER (liker.id IN (SELECT id FROM zombie)) AS of_zombies
    FROM message JOIN likes ON likes.message = message.id JOIN person liker ON liker.id = likes.person
    WHERE message.creator IN (SELECT id FROM zombie) AND liker.creation_date < $endDate
    GROUP BY message.creator
)
SELECT zombie.id, coalesce(of_zombies, 0) AS zombie_like_count, coalesce(total, 0) AS total_like_count,
       coalesce(of_zombies::DOUBLE / total, 0) AS zombie_score
FROM zombie LEFT JOIN counted ON counted.creator = zombie.id
ORDER BY zombie_score DESC, zombie.id
LIMIT 100
