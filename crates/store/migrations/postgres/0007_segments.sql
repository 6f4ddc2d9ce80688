-- Old messages, many of one conversation in one packed run of bytes (ADR 0015, 0018). They were rows of `message`
-- before; a row whose id lies in the range of a segment came later, or was taken out to be revised.

-- `messages`: those that are shown. `last_*`: of the message `last_id`. `kinds`: 1 << kind of each kind that is in
-- it. `version`: the `cold_version` of the conversation since it was written; what is in it never changes under one.
CREATE TABLE segment (
    cid bigint NOT NULL,
    first_id bigint NOT NULL,
    last_id bigint NOT NULL,
    messages bigint NOT NULL,
    last_seq bigint NOT NULL,
    last_countable bigint NOT NULL,
    kinds bigint NOT NULL,
    version bigint NOT NULL,
    blob bytea NOT NULL,
    PRIMARY KEY (cid, last_id)
);

-- It is packed already.
ALTER TABLE segment ALTER COLUMN blob SET STORAGE EXTERNAL;

-- `cold_msg_id`: above it there are no segments. `cold`: messages in segments; `stored` does not count them.
-- `cold_version` rises with each change of the segments. `cold_look`: once messages up to this id may move, it is to
-- be looked at whether there are enough.
ALTER TABLE conversation ADD COLUMN cold_msg_id bigint NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN cold bigint NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN cold_version bigint NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN cold_look bigint NOT NULL DEFAULT 0;

CREATE INDEX conversation_cold_look ON conversation (cold_look, cid);
