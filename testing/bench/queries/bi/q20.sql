WITH RECURSIVE reached(person, cost) USING KEY (person) AS (
    SELECT $person2Id::BIGINT, 0::BIGINT
    UNION
    SELECT found.person, found.cost
    FROM (SELECT person_2 AS person, min(cost + weight) AS cost
          FROM reached JOIN studied ON studied.person_1 = reached.person GROUP BY ALL) found
    LEFT JOIN recurring.reached known ON known.person = found.person
    WHERE known.cost IS NULL OR found.cost < known.cost
), employee AS (
    SELECT person, cost, min(cost) OVER () AS least FROM reached
    WHERE person IN (SELECT work_at.person FROM work_at JOIN organisation ON organisation.id = work_at.organisation
                     WHERE organisation.name = $company)
)
SELECT person, cost FROM employee WHERE cost = least ORDER BY cost, person LIMIT 20
