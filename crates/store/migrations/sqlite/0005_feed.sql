-- The feed of changes.
-- One statement ends at each line that ends in a semicolon.

-- Messages in the order in which they were stored: by time, then by counter, then by partition. Some 22 bytes each.
CREATE INDEX message_place
    ON message (((msg_id >> 22) << 22) | ((msg_id & 16383) << 8) | ((msg_id >> 14) & 255));

-- `subject`: whose data were looked at; '': nobody's alone.
ALTER TABLE audit ADD COLUMN subject TEXT NOT NULL DEFAULT '';
