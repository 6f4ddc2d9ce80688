-- Messages that users have hidden from themselves.
-- One statement ends at each line that ends in a semicolon.

-- `counts`: the message would make the conversation unread for the user.
CREATE TABLE hidden (
    cid INTEGER NOT NULL,
    user TEXT NOT NULL,
    msg_id INTEGER NOT NULL,
    counts INTEGER NOT NULL,
    PRIMARY KEY (cid, user, msg_id)
) STRICT, WITHOUT ROWID;

-- What has expired is hidden no more.
CREATE INDEX hidden_message ON hidden (cid, msg_id);

-- `hidden_version`: when the member last hid something.
ALTER TABLE member ADD COLUMN hidden_version INTEGER NOT NULL DEFAULT 0;
