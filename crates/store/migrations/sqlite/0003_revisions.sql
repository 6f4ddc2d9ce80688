-- What was done to messages after they were sent.
-- One statement ends at each line that ends in a semicolon.

-- `number`: 1, 2, 3 … for each message. `sender`: of the message. `uncounted`: the message counted before and
-- does no more. `user`: who did it, as `role`: 1 owner, 2 administrator, 3 the sender, 0 a privileged actor.
-- `content` and `ext` are what the message had before.
CREATE TABLE revision (
    cid INTEGER NOT NULL,
    msg_id INTEGER NOT NULL,
    number INTEGER NOT NULL,
    action INTEGER NOT NULL,
    control_msg_id INTEGER NOT NULL,
    sender TEXT NOT NULL,
    uncounted INTEGER NOT NULL,
    user TEXT NOT NULL,
    role INTEGER NOT NULL,
    time INTEGER NOT NULL,
    reason TEXT NOT NULL,
    content BLOB NOT NULL,
    ext TEXT,
    PRIMARY KEY (cid, msg_id, number)
) STRICT, WITHOUT ROWID;

-- Of messages that were taken back, those after any place of the history, without their content.
CREATE INDEX revision_uncounted ON revision (cid, msg_id, sender) WHERE uncounted = 1;

-- `shown_msg_id`: the newest message that is no control message.
ALTER TABLE conversation ADD COLUMN shown_msg_id INTEGER NOT NULL DEFAULT 0;

UPDATE conversation SET shown_msg_id = head_msg_id;

-- What the store names itself takes no name from clients.
DROP INDEX message_client;

CREATE UNIQUE INDEX message_client ON message (cid, sender, client_msg_id) WHERE control_msg_id IS NULL;
