WITH tagged AS (
    SELECT message.id, creator
    FROM tag JOIN message_tag ON message_tag.tag = tag.id JOIN message ON message.id = message_tag.message
    WHERE tag.name = $tag
), pair AS (
    SELECT DISTINCT creator AS author, likes.person AS liker FROM tagged LEFT JOIN likes ON likes.message = tagged.id
), popularity AS (
    SELECT creator, count(*) AS score
    FROM message JOIN likes ON likes.message = message.id
    WHERE creator IN (SELECT liker FROM pair)
    GROUP BY creator
)
SELECT author, coalesce(sum(score), 0)::BIGINT AS authority_score
FROM pair LEFT JOIN popularity ON popularity.creator = pair.liker
GROUP BY author
ORDER BY authority_score DESC, author
LIMIT 100
