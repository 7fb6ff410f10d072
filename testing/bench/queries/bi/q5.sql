WITH tagged AS (
    SELECT message.id, creator
    FROM tag JOIN message_tag ON message_tag.tag = tag.id JOIN message ON message.id = message_tag.message
    WHERE tag.name = $tag
), liked AS (
    SELECT message, count(*) AS likes FROM likes WHERE message IN (SELECT id FROM tagged) GROUP BY message
), answered AS (
    SELECT parent, count(*) AS replies FROM message WHERE parent IN (SELECT id FROM tagged) GROUP BY parent
), counted AS (
    SELECT creator, coalesce(sum(replies), 0)::BIGINT AS reply_count, coalesce(sum(likes), 0)::BIGINT AS like_count,
           count(*) AS message_count
    FROM tagged LEFT JOIN liked ON liked.message = tagged.id LEFT JOIN answered ON answered.parent = tagged.id
    GROUP BY creator
)
SELECT *, message_count + 2 * reply_count + 10 * like_count AS score FROM counted ORDER BY score DESC, creator LIMIT 100
