-- Messages that users have hidden from themselves. `counts`: the message would make the conversation unread for the
-- user.
CREATE TABLE hidden (
    cid bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    msg_id bigint NOT NULL,
    counts smallint NOT NULL,
    PRIMARY KEY (cid, user_id, msg_id)
);

-- What has expired is hidden no more.
CREATE INDEX hidden_message ON hidden (cid, msg_id);
