// CQ3: friends and friends of friends who wrote a message about a country, the first by id.
MATCH WALK (person:Person {id: $personId})-[:KNOWS]-{1,2}(friend:Person)
WITH DISTINCT friend
WHERE EXISTS { MATCH (friend)<-[:HAS_CREATOR]-()-[:HAS_TAG]->(:Tag)-[:HAS_TYPE]->(class:TagClass) WHERE class.name CONTAINS 'Country' }
RETURN friend.id AS id ORDER BY id LIMIT $n
