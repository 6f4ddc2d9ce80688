-- Old messages, many of one conversation in one packed run of bytes (ADR 0015, 0018).
-- One statement ends at each line that ends in a semicolon.

-- Messages up to the conversation's `cold_msg_id` are here, and above it in `message`. `last_*`: of the message
-- `last_id`. `kinds`: 1 << kind of each kind that is in it.
CREATE TABLE segment (
    cid INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    last_seq INTEGER NOT NULL,
    last_countable INTEGER NOT NULL,
    kinds INTEGER NOT NULL,
    blob BLOB NOT NULL,
    PRIMARY KEY (cid, last_id)
) STRICT;

-- `cold_countable`: of the message `cold_msg_id`. `cold`: messages in segments. `cold_version` rises with each change
-- of the segments. `cold_look`: once messages up to this id may move, it is to be looked at whether there are enough.
ALTER TABLE conversation ADD COLUMN cold_msg_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN cold_countable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN cold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN cold_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN cold_look INTEGER NOT NULL DEFAULT 0;
ALTER TABLE upkeep_run ADD COLUMN tiered INTEGER NOT NULL DEFAULT 0;

CREATE INDEX conversation_cold_look ON conversation (cold_look, cid);
