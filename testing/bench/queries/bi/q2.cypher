// BI 2: tags of a class by how differently often they were used in two periods of 100 days, one after the other.
// A tag without a message in either period is left out.
MATCH (:TagClass {name: $tagClass})<-[:HAS_TYPE]-(tag:Tag)<-[:HAS_TAG]-(message:Message)
WHERE $date <= message.creationDate < $date + 2 * 8640000000
WITH tag, count(CASE WHEN message.creationDate < $date + 8640000000 THEN 1 END) AS countWindow1,
     count(CASE WHEN message.creationDate >= $date + 8640000000 THEN 1 END) AS countWindow2
RETURN tag.name AS name, countWindow1, countWindow2, abs(countWindow1 - countWindow2) AS diff
ORDER BY diff DESC, name
LIMIT 100
