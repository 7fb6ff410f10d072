WITH placed AS (
    SELECT message.id, creator, creation_date, parent, root_forum AS forum
    FROM tag JOIN message_tag ON message_tag.tag = tag.id JOIN message ON message.id = message_tag.message
    WHERE tag.name = $tag
), discussion AS (
    SELECT placed.id, placed.forum, placed.creation_date, placed.creator AS person_2, comment.creator AS person_3
    FROM placed JOIN placed comment ON comment.parent = placed.id
    WHERE placed.creator <> comment.creator
), shared AS MATERIALIZED (
    SELECT discussion.*, two.forum AS forum_1
    FROM discussion
    JOIN forum_member two ON two.person = discussion.person_2
    JOIN forum_member three ON three.person = discussion.person_3 AND three.forum = two.forum
    WHERE two.forum <> discussion.forum
)
SELECT first.creator, count(DISTINCT shared.id) AS message_count
FROM shared JOIN placed first ON first.forum = shared.forum_1
WHERE shared.creation_date > first.creation_date + $delta * 3600000
  AND first.creator <> shared.person_2 AND first.creator <> shared.person_3
  AND NOT EXISTS (SELECT 1 FROM forum_member WHERE forum_member.forum = shared.forum AND forum_member.person = first.creator)
GROUP BY first.creator
ORDER BY message_count DESC, first.creator
LIMIT 10
