WITH inhabitant AS (
    SELECT person.id
    FROM person JOIN place city ON city.id = person.city JOIN place country ON country.id = city.part_of
    WHERE country.name = $country AND country.type = 'country'
), friendship AS (
    SELECT person_1, person_2
    FROM knows
    WHERE person_1 < person_2 AND creation_date >= $startDate AND creation_date <= $endDate
      AND person_1 IN (SELECT id FROM inhabitant) AND person_2 IN (SELECT id FROM inhabitant)
)
SELECT count(*)
FROM friendship ab
JOIN friendship bc ON bc.person_1 = ab.person_2
JOIN friendship ac ON ac.person_1 = ab.person_1 AND ac.person_2 = bc.person_2
