//! Copying rows of a partition from one database to another, as they are: a batch travels as JSON, which
//! holds every column of every type without loss.

use super::super::limits::{MOVE_BYTES_MAX, MOVE_ROWS_MAX};
use crate::params;
use crate::postgres::Postgres;
use im_domain::{MsgId, Result};

/// A kind of rows. `rows` selects those of partition $1 after the key ($2, $3), up to conversation $5, in
/// the order of the key and up to $4 of them; `keys` names the two parts of the key.
pub(super) struct Table {
    rows: &'static str,
    keys: &'static str,
    /// The second part of a key before all others.
    start: &'static str,
    insert: &'static str,
}

pub(super) const CONVERSATIONS: Table = Table {
    rows: "
        SELECT * FROM conversation WHERE (cid >> 14) & 255 = $1::bigint AND cid > $2::bigint
            AND $3::text IS NOT NULL AND cid <= $5::bigint ORDER BY cid LIMIT $4::bigint",
    keys: "x.cid, ''::text",
    start: "",
    insert: "
        INSERT INTO conversation SELECT * FROM json_populate_recordset(NULL::conversation, $1::text::json)
        ON CONFLICT (cid) DO UPDATE SET kind = excluded.kind, history = excluded.history,
            member_count = excluded.member_count, head_msg_id = excluded.head_msg_id,
            head_seq = excluded.head_seq, head_countable = excluded.head_countable,
            shown_msg_id = excluded.shown_msg_id, cold_msg_id = excluded.cold_msg_id, cold = excluded.cold,
            cold_version = excluded.cold_version, cold_look = excluded.cold_look,
            head_epoch = excluded.head_epoch, stored = excluded.stored, update_time = excluded.update_time,
            retention_ms = excluded.retention_ms, legal_hold = excluded.legal_hold,
            oldest_msg_id = excluded.oldest_msg_id",
};

pub(super) const MESSAGES: Table = Table {
    rows: "
        SELECT * FROM (
            SELECT m.*, sum(length(m.content)) OVER (ORDER BY m.cid, m.msg_id) - length(m.content) AS before
            FROM (SELECT m.* FROM (SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint
                    AND cid BETWEEN $2::bigint AND $5::bigint ORDER BY cid) c
                CROSS JOIN LATERAL (SELECT * FROM message WHERE cid = c.cid
                    AND msg_id > CASE WHEN c.cid = $2::bigint THEN $3::text::bigint ELSE 0 END
                    ORDER BY msg_id LIMIT $4::bigint) m
                ORDER BY c.cid, m.msg_id LIMIT $4::bigint) m) sized
        WHERE before < {bytes} ORDER BY cid, msg_id",
    keys: "x.cid, x.msg_id::text",
    start: "0",
    insert: "
        INSERT INTO message SELECT * FROM json_populate_recordset(NULL::message, $1::text::json)
        ON CONFLICT DO NOTHING",
};

/// What is packed is not unpacked to be measured.
pub(super) const SEGMENTS: Table = Table {
    rows: "
        SELECT * FROM (
            SELECT s.*, sum(length(s.blob)) OVER (ORDER BY s.cid, s.last_id) - length(s.blob) AS before
            FROM (SELECT s.* FROM (SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint
                    AND cid BETWEEN $2::bigint AND $5::bigint ORDER BY cid) c
                CROSS JOIN LATERAL (SELECT * FROM segment WHERE cid = c.cid
                    AND last_id > CASE WHEN c.cid = $2::bigint THEN $3::text::bigint ELSE 0 END
                    ORDER BY last_id LIMIT $4::bigint) s
                ORDER BY c.cid, s.last_id LIMIT $4::bigint) s) sized
        WHERE before < {bytes} ORDER BY cid, last_id",
    keys: "x.cid, x.last_id::text",
    start: "0",
    insert: "
        INSERT INTO segment SELECT * FROM json_populate_recordset(NULL::segment, $1::text::json)
        ON CONFLICT DO NOTHING",
};

pub(super) const MEMBERS: Table = Table {
    rows: "
        SELECT m.* FROM (SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint
                AND cid BETWEEN $2::bigint AND $5::bigint ORDER BY cid) c
        CROSS JOIN LATERAL (SELECT * FROM member WHERE cid = c.cid
            AND user_id > CASE WHEN c.cid = $2::bigint THEN $3::text ELSE '' END COLLATE \"C\"
            ORDER BY user_id LIMIT $4::bigint) m
        ORDER BY c.cid, m.user_id LIMIT $4::bigint",
    keys: "x.cid, x.user_id",
    start: "",
    insert: "
        INSERT INTO member SELECT * FROM json_populate_recordset(NULL::member, $1::text::json)
        ON CONFLICT DO NOTHING",
};

pub(super) const REVISIONS: Table = Table {
    rows: "
        SELECT * FROM (
            SELECT v.*, sum(length(v.content)) OVER (ORDER BY v.cid, v.msg_id, v.number) - length(v.content) AS before
            FROM (SELECT v.* FROM (SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint
                    AND cid BETWEEN $2::bigint AND $5::bigint ORDER BY cid) c
                CROSS JOIN LATERAL (SELECT * FROM revision WHERE cid = c.cid AND (c.cid > $2::bigint
                        OR (msg_id, number) > (split_part($3::text, ' ', 1)::bigint,
                            split_part($3::text, ' ', 2)::bigint))
                    ORDER BY msg_id, number LIMIT $4::bigint) v
                ORDER BY c.cid, v.msg_id, v.number LIMIT $4::bigint) v) sized
        WHERE before < {bytes} ORDER BY cid, msg_id, number",
    keys: "x.cid, x.msg_id || ' ' || x.number",
    start: "0 0",
    insert: "
        INSERT INTO revision SELECT * FROM json_populate_recordset(NULL::revision, $1::text::json)
        ON CONFLICT DO NOTHING",
};

/// Messages that were revised, as they are now, over those that were copied before.
pub(super) const REVISED: Table = Table {
    rows: "
        SELECT * FROM (
            SELECT v.cid, v.msg_id, m.status, m.content, m.ext, m.edit_time, m.client_msg_id, m.fingerprint,
                sum(coalesce(length(m.content), 0)) OVER (ORDER BY v.cid, v.msg_id)
                    - coalesce(length(m.content), 0) AS before
            FROM (SELECT c.cid, v.msg_id FROM (SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint
                    AND cid BETWEEN $2::bigint AND $5::bigint ORDER BY cid) c
                CROSS JOIN LATERAL (SELECT DISTINCT msg_id FROM revision WHERE cid = c.cid
                    AND msg_id > CASE WHEN c.cid = $2::bigint THEN $3::text::bigint ELSE 0 END
                    ORDER BY msg_id LIMIT $4::bigint) v
                ORDER BY c.cid, v.msg_id LIMIT $4::bigint) v
            LEFT JOIN message m ON m.cid = v.cid AND m.msg_id = v.msg_id) sized
        WHERE before < {bytes} ORDER BY cid, msg_id",
    keys: "x.cid, x.msg_id::text",
    start: "0",
    insert: "
        UPDATE message m SET status = x.status, content = x.content, ext = x.ext, edit_time = x.edit_time,
            client_msg_id = x.client_msg_id, fingerprint = x.fingerprint
        FROM json_populate_recordset(NULL::message, $1::text::json) x
        WHERE m.cid = x.cid AND m.msg_id = x.msg_id AND x.status IS NOT NULL",
};

/// No name holds a space, so one parts user and message.
pub(super) const HIDDEN: Table = Table {
    rows: "
        SELECT h.* FROM (SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint
                AND cid BETWEEN $2::bigint AND $5::bigint ORDER BY cid) c
        CROSS JOIN LATERAL (SELECT * FROM hidden WHERE cid = c.cid AND (c.cid > $2::bigint
                OR (user_id, msg_id) > (split_part($3::text, ' ', 1), split_part($3::text, ' ', 2)::bigint))
            ORDER BY user_id, msg_id LIMIT $4::bigint) h
        ORDER BY c.cid, h.user_id, h.msg_id LIMIT $4::bigint",
    keys: "x.cid, x.user_id || ' ' || x.msg_id",
    start: " 0",
    insert: "
        INSERT INTO hidden SELECT * FROM json_populate_recordset(NULL::hidden, $1::text::json)
        ON CONFLICT DO NOTHING",
};

/// No name holds a space, so one parts user and device.
pub(super) const POSITIONS: Table = Table {
    rows: "
        SELECT m.* FROM (SELECT cid FROM conversation WHERE (cid >> 14) & 255 = $1::bigint
                AND cid BETWEEN $2::bigint AND $5::bigint ORDER BY cid) c
        CROSS JOIN LATERAL (SELECT * FROM position WHERE cid = c.cid AND (c.cid > $2::bigint
                OR (user_id, device) > (split_part($3::text, ' ', 1), split_part($3::text, ' ', 2)))
            ORDER BY user_id, device LIMIT $4::bigint) m
        ORDER BY c.cid, m.user_id, m.device LIMIT $4::bigint",
    keys: "x.cid, x.user_id || ' ' || x.device",
    start: "",
    insert: "
        INSERT INTO position SELECT * FROM json_populate_recordset(NULL::position, $1::text::json)
        ON CONFLICT DO NOTHING",
};

pub(super) const ALIASES: Table = Table {
    rows: "
        SELECT * FROM alias WHERE partition = $1::bigint
            AND (tenant, name) > (split_part($3::text, ' ', 1), split_part($3::text, ' ', 2))
            AND $2::bigint <= $5::bigint ORDER BY tenant, name LIMIT $4::bigint",
    keys: "0::bigint, x.tenant || ' ' || x.name",
    start: "",
    insert: "
        INSERT INTO alias SELECT * FROM json_populate_recordset(NULL::alias, $1::text::json)
        ON CONFLICT DO NOTHING",
};

pub(super) const DEVICES: Table = Table {
    rows: "
        SELECT * FROM device WHERE partition = $1::bigint
            AND (tenant, user_id, device) > (split_part($3::text, ' ', 1), split_part($3::text, ' ', 2),
                split_part($3::text, ' ', 3))
            AND $2::bigint <= $5::bigint ORDER BY tenant, user_id, device LIMIT $4::bigint",
    keys: "0::bigint, x.tenant || ' ' || x.user_id || ' ' || x.device",
    start: "",
    insert: "
        INSERT INTO device SELECT * FROM json_populate_recordset(NULL::device, $1::text::json)
        ON CONFLICT DO NOTHING",
};

pub(super) const USER_SETTINGS: Table = Table {
    rows: "
        SELECT * FROM user_setting WHERE partition = $1::bigint
            AND (tenant, user_id) > (split_part($3::text, ' ', 1), split_part($3::text, ' ', 2))
            AND $2::bigint <= $5::bigint ORDER BY tenant, user_id LIMIT $4::bigint",
    keys: "0::bigint, x.tenant || ' ' || x.user_id",
    start: "",
    insert: "
        INSERT INTO user_setting SELECT * FROM json_populate_recordset(NULL::user_setting, $1::text::json)
        ON CONFLICT DO NOTHING",
};

pub(super) const AUDIT: Table = Table {
    rows: "
        SELECT * FROM audit WHERE partition = $1::bigint AND id > $3::text
            AND $2::bigint <= $5::bigint ORDER BY id LIMIT $4::bigint",
    keys: "0::bigint, x.id",
    start: "",
    insert: "
        INSERT INTO audit SELECT * FROM json_populate_recordset(NULL::audit, $1::text::json)
        ON CONFLICT DO NOTHING",
};

pub(super) const LATE: Table = Table {
    rows: "
        SELECT * FROM late WHERE (stamp >> 14) & 255 = $1::bigint
            AND (stamp, msg_id) > ($2::bigint, $3::text::bigint)
            AND $5::bigint IS NOT NULL ORDER BY stamp, msg_id LIMIT $4::bigint",
    keys: "x.stamp, x.msg_id::text",
    start: "0",
    insert: "
        INSERT INTO late SELECT * FROM json_populate_recordset(NULL::late, $1::text::json)
        ON CONFLICT DO NOTHING",
};

/// From where to where rows are copied.
pub(super) struct Way<'a, P> {
    pub partition: u8,
    pub from: &'a P,
    pub to: &'a P,
}

/// Copies all rows of a kind.
pub(super) async fn copy_all<P: Postgres>(way: &Way<'_, P>, table: &Table) -> Result<()> {
    copy(way, table, (MsgId::NONE, table.start.to_owned()), MsgId::MAX).await
}

/// Copies the rows of a kind that come after a key, up to a conversation.
pub(super) async fn copy<P: Postgres>(
    way: &Way<'_, P>,
    table: &Table,
    mut after: (MsgId, String),
    last: MsgId,
) -> Result<()> {
    let (first, second) = table.keys.split_once(", ").unwrap_or_default();
    let statement = format!(
        "SELECT json_agg(x)::text, (array_agg({first}))[count(*)::int], (array_agg({second}))[count(*)::int]
        FROM ({}) x HAVING count(*) > 0",
        table.rows.replace("{bytes}", &MOVE_BYTES_MAX.to_string())
    );
    loop {
        let parameters = params![u64::from(way.partition), after.0, after.1.as_str(), MOVE_ROWS_MAX, last];
        let mut rows = way.from.query(&statement, parameters).await?;
        let Some(row) = rows.first_mut() else { return Ok(()) };
        let batch = row.text()?;
        after = (row.msg_id()?, row.text()?);
        way.to.query(table.insert, params![batch]).await?;
    }
}
