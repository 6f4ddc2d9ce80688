-- Who looked at what only administrators may see. `id`: a name of its own. `partition`: that of the conversation,
-- whose rows move with it. `time`: in milliseconds since 1970. `action`: what was done, `versions`: former
-- versions of the message were read.
CREATE TABLE audit (
    id text COLLATE "C" PRIMARY KEY,
    partition bigint NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    time bigint NOT NULL,
    action text NOT NULL,
    conversation text COLLATE "C" NOT NULL,
    msg_id bigint NOT NULL
);

CREATE INDEX audit_partition ON audit (partition, id);

CREATE INDEX audit_time ON audit (tenant, time);

-- Of the last edit of a message that is not here: what it gave. There it is when the message comes.
ALTER TABLE revision ADD COLUMN kept bytea;
