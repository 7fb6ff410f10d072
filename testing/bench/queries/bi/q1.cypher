// BI 1: messages before a moment by year, kind and length, with each group's share of all.
// Messages without content count, too, and the share is given in percent.
MATCH (message:Message)
WHERE message.creationDate < $datetime
WITH datetime({epochMillis: message.creationDate}).year AS year, message:Comment AS isComment, message.length AS length,
     CASE WHEN message.length < 40 THEN 0 WHEN message.length < 80 THEN 1 WHEN message.length < 160 THEN 2 ELSE 3 END AS lengthCategory
WITH year, isComment, lengthCategory, count(*) AS messageCount, avg(length) AS averageLength, sum(length) AS sumLength
WITH collect([year, isComment, lengthCategory, messageCount, averageLength, sumLength]) AS groups, sum(messageCount) AS total
UNWIND groups AS g
RETURN g[0] AS year, g[1] AS isComment, g[2] AS lengthCategory, g[3] AS messageCount, g[4] AS averageLength, g[5] AS sumLength,
       100.0 * g[3] / total AS percentage
ORDER BY year DESC, isComment, lengthCategory
