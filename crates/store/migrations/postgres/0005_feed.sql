-- The feed of changes reads messages in the order of their ids, whatever their conversation. It costs 23 bytes a
-- message; what it costs the drain stands in docs/benchmarks.md.
CREATE INDEX message_id ON message (msg_id);

-- What was stored when the feed may have been read beyond it: a dead letter that was put back. `stamp`: that of the
-- entry by which it came; there the feed has it once more.
CREATE TABLE late (
    stamp bigint NOT NULL,
    cid bigint NOT NULL,
    msg_id bigint NOT NULL,
    PRIMARY KEY (stamp, msg_id)
);
