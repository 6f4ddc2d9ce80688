-- Conversations, their members, their messages, and how far devices have got. The whole file is one
-- block of one transaction. Numbers of messages (`msg_id`), of conversations (`cid`) and stamps are of one
-- kind: 63 bits, given by the clock of a partition, and hold the partition: (id >> 14) & 255.

CREATE TABLE migration (
    version bigint PRIMARY KEY,
    name text NOT NULL,
    applied_at bigint NOT NULL
);

-- One row: which of how many databases this is, how many they are to become (0: as many), and beside how
-- many Redis servers it stands.
CREATE TABLE layout (
    id bigint PRIMARY KEY CHECK (id = 1),
    position bigint NOT NULL,
    databases bigint NOT NULL,
    target_databases bigint NOT NULL DEFAULT 0,
    hot_nodes bigint NOT NULL
);

-- `clock`: everything of the partition's log up to this stamp is here. It is locked and moved on by
-- the statement that stores a batch, so no entry is applied twice and none out of order. `adoption`:
-- the token under which the hot store's state was last verified; `base`: the token that hot
-- state has to carry to be trusted. `home`: 1: the partition is here, 0: it is leaving or has left, 2: it is
-- arriving. `moving` names the move: position of the database it goes to, "/", token, "/", time (ms since
-- 1970).
CREATE TABLE partition_state (
    partition bigint PRIMARY KEY,
    clock bigint NOT NULL,
    epoch text NOT NULL,
    since bigint NOT NULL,
    base text NOT NULL,
    adoption text NOT NULL,
    home smallint NOT NULL DEFAULT 1,
    moving text NOT NULL DEFAULT ''
) WITH (fillfactor = 50);

-- `head_*`: the newest message. `head_epoch`: the epoch it was given in. `stored`: messages kept here.
CREATE TABLE conversation (
    cid bigint PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    kind smallint NOT NULL,
    history smallint NOT NULL,
    member_count bigint NOT NULL,
    head_msg_id bigint NOT NULL DEFAULT 0,
    head_seq bigint NOT NULL DEFAULT 0,
    head_countable bigint NOT NULL DEFAULT 0,
    head_epoch text NOT NULL DEFAULT '',
    stored bigint NOT NULL DEFAULT 0,
    create_time bigint NOT NULL,
    update_time bigint NOT NULL,
    UNIQUE (tenant, name)
) WITH (fillfactor = 70);

-- A move of a partition reads its conversations.
CREATE INDEX conversation_partition ON conversation (((cid >> 14) & 255), cid);

-- The chat of a pair that has an id of its own: `name` is the id it would have otherwise.
CREATE TABLE alias (
    tenant text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    partition bigint NOT NULL,
    PRIMARY KEY (tenant, name)
);

CREATE INDEX alias_partition ON alias (partition, tenant, name);

-- `floor`: the newest message when the member joined. `own`: countable messages the member has sent
-- since joining. `read_*`: the read position, with `head_countable` and `own` as they were there.
CREATE TABLE member (
    cid bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    tenant text COLLATE "C" NOT NULL,
    role smallint NOT NULL,
    floor bigint NOT NULL DEFAULT 0,
    own bigint NOT NULL DEFAULT 0,
    read_msg_id bigint NOT NULL DEFAULT 0,
    read_countable bigint NOT NULL DEFAULT 0,
    read_own bigint NOT NULL DEFAULT 0,
    muted smallint NOT NULL DEFAULT 0,
    PRIMARY KEY (cid, user_id)
) WITH (fillfactor = 70);

CREATE INDEX member_user ON member (tenant, user_id, cid);

-- Clustered by conversation and id as far as PostgreSQL can: ids rise, so a page is a few neighbours.
-- `content` is bytes, so that any text is kept as it is, NUL included. `copy_of`: absent: the message
-- stands for its client_msg_id; above 0: it repeats that message, was stored after the marker of the
-- first had gone, and is not shown; 0: its client_msg_id was taken by another message, and it is shown.
CREATE TABLE message (
    cid bigint NOT NULL,
    msg_id bigint NOT NULL,
    seq bigint NOT NULL,
    countable bigint NOT NULL,
    sender text COLLATE "C" NOT NULL,
    client_msg_id text COLLATE "C" NOT NULL,
    fingerprint bytea NOT NULL,
    kind smallint NOT NULL,
    status smallint NOT NULL DEFAULT 0,
    content bytea NOT NULL,
    reply_to bigint,
    ext text,
    edit_time bigint,
    control_msg_id bigint,
    control_action smallint,
    copy_of bigint,
    PRIMARY KEY (cid, msg_id)
) PARTITION BY HASH (cid);

CREATE TABLE message_0 PARTITION OF message FOR VALUES WITH (MODULUS 8, REMAINDER 0);
CREATE TABLE message_1 PARTITION OF message FOR VALUES WITH (MODULUS 8, REMAINDER 1);
CREATE TABLE message_2 PARTITION OF message FOR VALUES WITH (MODULUS 8, REMAINDER 2);
CREATE TABLE message_3 PARTITION OF message FOR VALUES WITH (MODULUS 8, REMAINDER 3);
CREATE TABLE message_4 PARTITION OF message FOR VALUES WITH (MODULUS 8, REMAINDER 4);
CREATE TABLE message_5 PARTITION OF message FOR VALUES WITH (MODULUS 8, REMAINDER 5);
CREATE TABLE message_6 PARTITION OF message FOR VALUES WITH (MODULUS 8, REMAINDER 6);
CREATE TABLE message_7 PARTITION OF message FOR VALUES WITH (MODULUS 8, REMAINDER 7);

CREATE UNIQUE INDEX message_client ON message (cid, sender, client_msg_id) WHERE copy_of IS NULL;

CREATE INDEX message_kind ON message (cid, kind, msg_id);

CREATE TABLE position (
    cid bigint NOT NULL,
    user_id text COLLATE "C" NOT NULL,
    device text COLLATE "C" NOT NULL,
    msg_id bigint NOT NULL,
    seq bigint NOT NULL,
    update_time bigint NOT NULL,
    PRIMARY KEY (cid, user_id, device)
) WITH (fillfactor = 70);
