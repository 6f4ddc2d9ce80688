-- Conversations, their members, their messages, and how far devices have got.
-- One statement ends at each line that ends in a semicolon.

CREATE TABLE migration (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT;

-- One row. `clock_*`: the last id that was given; it never goes back, so no id is given twice.
-- `flushes` is written when a flush to disk is asked for and there is nothing else to write.
CREATE TABLE store (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    epoch TEXT NOT NULL,
    epoch_since INTEGER NOT NULL,
    clock_ms INTEGER NOT NULL DEFAULT 0,
    clock_counter INTEGER NOT NULL DEFAULT 0,
    flushes INTEGER NOT NULL DEFAULT 0
) STRICT;

-- `head_*`: the newest message. `countable`: how many messages of the conversation make it unread.
-- `purged_seq`: everything up to it has been purged. `place`: where it stands in
-- lists, rising in the order in which conversations were made or written to.
CREATE TABLE conversation (
    cid INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    kind INTEGER NOT NULL,
    history INTEGER NOT NULL,
    member_count INTEGER NOT NULL,
    head_msg_id INTEGER NOT NULL DEFAULT 0,
    head_seq INTEGER NOT NULL DEFAULT 0,
    head_countable INTEGER NOT NULL DEFAULT 0,
    purged_seq INTEGER NOT NULL DEFAULT 0,
    place INTEGER NOT NULL,
    create_time INTEGER NOT NULL,
    update_time INTEGER NOT NULL,
    UNIQUE (tenant, name)
) STRICT;

-- Users in the order of their names, so that a pair stands here once.
CREATE TABLE pair (
    tenant TEXT NOT NULL,
    low TEXT NOT NULL,
    high TEXT NOT NULL,
    cid INTEGER NOT NULL,
    PRIMARY KEY (tenant, low, high)
) STRICT, WITHOUT ROWID;

-- `floor`: the newest message when the member joined. `own`: countable messages the member has sent
-- since joining. `read_*`: the read position, with `head_countable` and `own` as they were there.
CREATE TABLE member (
    cid INTEGER NOT NULL,
    user TEXT NOT NULL,
    tenant TEXT NOT NULL,
    role INTEGER NOT NULL,
    floor INTEGER NOT NULL,
    own INTEGER NOT NULL DEFAULT 0,
    read_msg_id INTEGER NOT NULL,
    read_countable INTEGER NOT NULL,
    read_own INTEGER NOT NULL DEFAULT 0,
    muted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (cid, user)
) STRICT, WITHOUT ROWID;

CREATE INDEX member_user ON member (tenant, user, cid);

-- Clustered by conversation and id: a page is one range. `content` is bytes, so that any text is
-- kept as it is, NUL included.
CREATE TABLE message (
    cid INTEGER NOT NULL,
    msg_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    countable INTEGER NOT NULL,
    sender TEXT NOT NULL,
    client_msg_id TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    kind INTEGER NOT NULL,
    status INTEGER NOT NULL DEFAULT 0,
    content BLOB NOT NULL,
    reply_to INTEGER,
    ext TEXT,
    edit_time INTEGER,
    control_msg_id INTEGER,
    control_action INTEGER,
    PRIMARY KEY (cid, msg_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX message_client ON message (cid, sender, client_msg_id);

CREATE INDEX message_kind ON message (cid, kind, msg_id);

CREATE TABLE position (
    cid INTEGER NOT NULL,
    user TEXT NOT NULL,
    device TEXT NOT NULL,
    msg_id INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    update_time INTEGER NOT NULL,
    PRIMARY KEY (cid, user, device)
) STRICT, WITHOUT ROWID;

-- One row: what the last run of the upkeep did.
CREATE TABLE upkeep_run (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    at INTEGER NOT NULL,
    expired INTEGER NOT NULL,
    took_ms INTEGER NOT NULL
) STRICT;
