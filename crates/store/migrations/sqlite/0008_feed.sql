-- The feed of changes.
-- One statement ends at each line that ends in a semicolon.

-- Messages in the order in which they were stored: by time, then by counter, then by partition. Some 22 bytes each.
CREATE INDEX message_place
    ON message (((msg_id >> 22) << 22) | ((msg_id & 16383) << 8) | ((msg_id >> 14) & 255));

-- What the feed has beside messages in their order: that they were erased (`kind` 4), by the place where that was.
CREATE TABLE late (
    place INTEGER NOT NULL,
    cid INTEGER NOT NULL,
    msg_id INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    PRIMARY KEY (place, msg_id)
) STRICT, WITHOUT ROWID;

-- What is purged has no place.
CREATE INDEX late_message ON late (cid, msg_id);

-- Where something has moved to segments that the feed may not have come to.
CREATE INDEX conversation_cold ON conversation (tenant, cold_msg_id) WHERE cold_msg_id > 0;

-- `subject`: whose data were looked at; '': nobody's alone.
ALTER TABLE audit ADD COLUMN subject TEXT NOT NULL DEFAULT '';
