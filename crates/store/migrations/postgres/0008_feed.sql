-- The feed of changes reads messages in the order of their ids, whatever their conversation. It costs 23 bytes a
-- message; see ADR 19.
CREATE INDEX message_id ON message (msg_id);

-- What was stored when the feed may have been read beyond it: a dead letter that was put back. `stamp`: that of the
-- entry by which it came; there the feed has it once more. And what was erased: `kind` 4.
CREATE TABLE late (
    stamp bigint NOT NULL,
    cid bigint NOT NULL,
    msg_id bigint NOT NULL,
    kind smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (stamp, msg_id)
);

-- What is purged did not come late.
CREATE INDEX late_message ON late (cid, msg_id);

-- Where something has moved to segments that the feed may not have come to.
CREATE INDEX conversation_cold ON conversation (tenant, cold_msg_id) WHERE cold_msg_id > 0;

-- What a user has sent is found by the index of clientMsgIds, and what repeats one, by this. Few rows are in it.
CREATE INDEX message_repeated ON message (cid, sender, client_msg_id, msg_id) WHERE copy_of IS NOT NULL;

-- `subject`: whose data were looked at; '': nobody's alone.
ALTER TABLE audit ADD COLUMN subject text COLLATE "C" NOT NULL DEFAULT '';
