-- What was done to messages after they were sent. `number`: 1, 2, 3 … for each message. `countable`: of a
-- message that was taken back, its place among those that count; 0: it did not count. `role`: 1 owner,
-- 2 administrator, 3 the sender, 0 a privileged actor. `content` and `ext` are what it had before.
CREATE TABLE revision (
    cid bigint NOT NULL,
    msg_id bigint NOT NULL,
    number bigint NOT NULL,
    action smallint NOT NULL,
    control_msg_id bigint NOT NULL,
    countable bigint NOT NULL DEFAULT 0,
    user_id text COLLATE "C" NOT NULL,
    role smallint NOT NULL,
    time bigint NOT NULL,
    reason bytea NOT NULL,
    content bytea NOT NULL,
    ext text,
    PRIMARY KEY (cid, msg_id, number)
);

CREATE INDEX revision_countable ON revision (cid, countable) WHERE countable > 0;

-- `shown_msg_id`: the newest message that is no control message.
ALTER TABLE conversation ADD COLUMN shown_msg_id bigint NOT NULL DEFAULT 0;

UPDATE conversation SET shown_msg_id = head_msg_id;
