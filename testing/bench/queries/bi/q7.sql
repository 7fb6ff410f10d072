WITH tagged AS (
    SELECT message FROM tag JOIN message_tag ON message_tag.tag = tag.id WHERE tag.name = $tag
)
SELECT tag.name, count(*) AS count
FROM tagged
JOIN message reply ON reply.parent = tagged.message
JOIN message_tag ON message_tag.message = reply.id
JOIN tag ON tag.id = message_tag.tag
WHERE reply.id NOT IN (SELECT message FROM tagged)
GROUP BY tag.name
ORDER BY count DESC, tag.name
LIMIT 100
