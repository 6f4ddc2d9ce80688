-- What is kept of users by themselves. A user's partition is that of the name, as a conversation's is; its rows
-- move with it.

-- `last_seen`: when the device last synced, in milliseconds since 1970, to within an hour.
CREATE TABLE device (
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    device text COLLATE "C" NOT NULL,
    partition bigint NOT NULL,
    last_seen bigint NOT NULL,
    PRIMARY KEY (tenant, user_id, device)
) WITH (fillfactor = 70);

CREATE INDEX device_partition ON device (partition, tenant, user_id, device);

-- `show_content`: whether a push may show what was said. A user without a row has never said otherwise.
CREATE TABLE user_setting (
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    partition bigint NOT NULL,
    show_content smallint NOT NULL,
    PRIMARY KEY (tenant, user_id)
);

CREATE INDEX user_setting_partition ON user_setting (partition, tenant, user_id);

-- A device that is forgotten leaves all conversations.
CREATE INDEX position_device ON position (user_id, device);
