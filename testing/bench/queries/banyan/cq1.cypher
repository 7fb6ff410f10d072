// CQ1: persons that a person is connected to by exactly five steps.
MATCH WALK (person:Person {id: $personId})-[:KNOWS]-{5}(friend:Person)
RETURN DISTINCT friend.id AS id LIMIT $n
