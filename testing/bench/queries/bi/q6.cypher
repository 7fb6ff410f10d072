// BI 6: authors about a tag by the likes that those who like their messages received themselves.
MATCH (:Tag {name: $tag})<-[:HAS_TAG]-(message1:Message)-[:HAS_CREATOR]->(person1:Person)
OPTIONAL MATCH (message1)<-[:LIKES]-(person2:Person)
WITH DISTINCT person1, person2
WITH person2, collect(person1) AS authors
WITH authors, COUNT { (person2)<-[:HAS_CREATOR]-(:Message)<-[:LIKES]-() } AS popularity
UNWIND authors AS person1
RETURN person1.id AS personId, sum(popularity) AS authorityScore
ORDER BY authorityScore DESC, personId
LIMIT 100
