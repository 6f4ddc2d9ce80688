-- What has changed for whom, what was read, devices, and whom a push has to wake.
-- One statement ends at each line that ends in a semicolon.

-- `version`: the number of the last change; it rises with every one, so it says of two which was later.
ALTER TABLE store ADD COLUMN version INTEGER NOT NULL DEFAULT 0;

-- `version`: when something was last said, or the conversation was made. `membership_version`,
-- `revision_version`: when members or settings, or something that had been said, last changed. `wide`:
-- members are not told, they look these up. `purged_*`: the newest message that has been purged.
-- `fanned_*`: members have been marked for pushes up to this message. `fan_*`: the same for the round that
-- is under way, and the member it has come to ('': none is).
ALTER TABLE conversation ADD COLUMN version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN membership_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN revision_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN wide INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN purged_msg_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN purged_countable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN fanned_msg_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN fanned_countable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN fan_msg_id INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN fan_countable INTEGER NOT NULL DEFAULT 0;
ALTER TABLE conversation ADD COLUMN fan_user TEXT NOT NULL DEFAULT '';

-- `recency`: when something was last said, the conversation was made, or the member joined; of a wide one
-- the largest number there is. `other`: when the member was last told of anything else (0: never).
-- `joined`, `read_version`, `muted_version`: when the member joined, and last moved the read position or
-- changed an own setting.
ALTER TABLE member ADD COLUMN recency INTEGER NOT NULL DEFAULT 0;
ALTER TABLE member ADD COLUMN other INTEGER NOT NULL DEFAULT 0;
ALTER TABLE member ADD COLUMN joined INTEGER NOT NULL DEFAULT 0;
ALTER TABLE member ADD COLUMN read_version INTEGER NOT NULL DEFAULT 0;
ALTER TABLE member ADD COLUMN muted_version INTEGER NOT NULL DEFAULT 0;

-- Those who have left, and when: their devices are to be told.
CREATE TABLE departed (
    cid INTEGER NOT NULL,
    user TEXT NOT NULL,
    tenant TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (cid, user)
) STRICT, WITHOUT ROWID;

-- Of a message that makes unread: how many such ones its sender had sent before, since joining.
ALTER TABLE message ADD COLUMN own INTEGER;

CREATE TABLE device (
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    id TEXT NOT NULL,
    last_seen INTEGER NOT NULL,
    PRIMARY KEY (tenant, user, id)
) STRICT, WITHOUT ROWID;

-- A user, as far as pushes go. `since`: what was said up to then wakes nobody, because a device has synced
-- or a push was confirmed; the store's clock as an id of partition 0, and its version. `seen`: the last
-- sync of any device, in ms. `messages`, `oldest`: what waits beyond `since`, or beyond what the
-- lease covers; a guess that never makes the user due too late. `look`: when to look whether the user is
-- due, in ms; while there is a lease, when that runs out.
CREATE TABLE push (
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    show_content INTEGER NOT NULL DEFAULT 1,
    since INTEGER NOT NULL DEFAULT 0,
    since_version INTEGER NOT NULL DEFAULT 0,
    seen INTEGER NOT NULL DEFAULT 0,
    messages INTEGER NOT NULL DEFAULT 0,
    oldest INTEGER,
    look INTEGER,
    lease TEXT,
    covered INTEGER NOT NULL DEFAULT 0,
    covered_version INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, user)
) STRICT, WITHOUT ROWID;

-- What is there already. Versions follow the order of the lists so far.
UPDATE conversation SET version = f.version, membership_version = f.version
FROM (SELECT cid, row_number() OVER (ORDER BY place, cid) AS version FROM conversation) f
WHERE conversation.cid = f.cid;

UPDATE store SET version = (SELECT coalesce(max(version), 0) FROM conversation);

-- Nobody is woken for what was said before there were pushes.
UPDATE conversation SET fanned_msg_id = head_msg_id, fanned_countable = head_countable,
    purged_msg_id = iif(purged_seq = 0, 0, coalesce(
        (SELECT min(x.msg_id) - 1 FROM message x WHERE x.cid = conversation.cid), head_msg_id)),
    purged_countable = iif(purged_seq = 0, 0, coalesce(
        (SELECT x.countable - 1 FROM message x WHERE x.cid = conversation.cid ORDER BY x.msg_id LIMIT 1),
        head_countable));

UPDATE member SET recency = c.version FROM conversation c WHERE c.cid = member.cid;

UPDATE message SET own = max(0, f.own) FROM (
    SELECT x.cid, x.msg_id,
        coalesce(m.own, 0) - row_number() OVER (PARTITION BY x.cid, x.sender ORDER BY x.msg_id DESC) AS own
    FROM (
        SELECT cid, msg_id, sender,
            countable > lag(countable, 1, iif(seq = 1, 0, countable - 1))
                OVER (PARTITION BY cid ORDER BY msg_id) AS counts
        FROM message) x
    LEFT JOIN member m ON m.cid = x.cid AND m.user = x.sender
    WHERE x.counts) f
WHERE message.cid = f.cid AND message.msg_id = f.msg_id;

INSERT INTO departed (cid, user, tenant, version)
SELECT DISTINCT p.cid, p.user, c.tenant, 0 FROM position p JOIN conversation c ON c.cid = p.cid
WHERE NOT EXISTS (SELECT 1 FROM member m WHERE m.cid = p.cid AND m.user = p.user);

INSERT INTO device (tenant, user, id, last_seen)
SELECT c.tenant, p.user, p.device, max(p.update_time) FROM position p JOIN conversation c ON c.cid = p.cid
GROUP BY c.tenant, p.user, p.device;

-- The first millisecond of ids is 1704067200000.
INSERT INTO push (tenant, user, since, seen)
SELECT tenant, user, max(0, max(last_seen) - 1704067200000) << 22, max(last_seen) FROM device
GROUP BY tenant, user;

DROP INDEX member_user;

ALTER TABLE conversation DROP COLUMN place;

-- A user's conversations in the order of lists, and in the order of other changes.
CREATE INDEX member_recency ON member (tenant, user, recency);

CREATE INDEX member_other ON member (tenant, user, other) WHERE other > 0;

CREATE INDEX member_muted ON member (tenant, user) WHERE muted = 1;

CREATE INDEX departed_user ON departed (tenant, user, version);

-- Finds how much a member had said at any place by one search.
CREATE INDEX message_own ON message (cid, sender, msg_id, own) WHERE own IS NOT NULL;

-- Conversations in which something was said that pushes do not know of yet.
CREATE INDEX conversation_to_fan ON conversation (tenant, fanned_msg_id)
WHERE head_countable > fanned_countable;

CREATE INDEX push_look ON push (tenant, look) WHERE look IS NOT NULL;

CREATE UNIQUE INDEX push_lease ON push (lease) WHERE lease IS NOT NULL;
