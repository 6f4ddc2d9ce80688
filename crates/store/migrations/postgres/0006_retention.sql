-- For how long messages are kept, and where some may have expired. `retention_ms`: for how long the conversation
-- keeps its messages, in milliseconds, 0: for ever; absent: as the operator says. `legal_hold`: nothing of it
-- expires. `oldest_msg_id`: nothing that is older is left to be purged, neither of messages nor of what they were
-- before; absent: nothing at all is.
ALTER TABLE conversation ADD COLUMN retention_ms bigint;
ALTER TABLE conversation ADD COLUMN legal_hold smallint NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN oldest_msg_id bigint;

UPDATE conversation c SET oldest_msg_id = least(
    (SELECT m.msg_id FROM message m WHERE m.cid = c.cid ORDER BY m.msg_id LIMIT 1),
    (SELECT v.msg_id FROM revision v WHERE v.cid = c.cid ORDER BY v.msg_id LIMIT 1));

-- Conversations by what expires first: as the operator says for their type, and by a setting of their own.
CREATE INDEX conversation_oldest ON conversation (kind, oldest_msg_id, cid)
WHERE retention_ms IS NULL AND legal_hold = 0;

CREATE INDEX conversation_oldest_own ON conversation (((oldest_msg_id >> 22) + retention_ms), cid)
WHERE retention_ms > 0 AND legal_hold = 0;

-- Former versions that still hold something.
CREATE INDEX revision_kept ON revision (cid, msg_id)
WHERE length(content) > 0 OR ext IS NOT NULL OR kept IS NOT NULL OR countable > 0;
