WITH RECURSIVE reached(source, person, cost) USING KEY (source, person) AS (
    SELECT id, id, 0e0 FROM person WHERE city = $city1Id
    UNION
    SELECT found.source, found.person, found.cost
    FROM (SELECT source, person_2 AS person, min(cost + weight) AS cost
          FROM reached JOIN interacted ON interacted.person_1 = reached.person GROUP BY ALL) found
    LEFT JOIN recurring.reached known ON known.source = found.source AND known.person = found.person
    WHERE known.cost IS NULL OR found.cost < known.cost
), pair AS (
    SELECT source, person, cost, min(cost) OVER () AS least FROM reached
    WHERE person IN (SELECT id FROM person WHERE city = $city2Id)
)
SELECT source, person, cost FROM pair WHERE cost <= least + 1e-5 ORDER BY source, person
