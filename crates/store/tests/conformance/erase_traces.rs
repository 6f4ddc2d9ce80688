//! Everything a store keeps, as text, to see whether something is left in it.

use super::backend::{Backend, EmbeddedBackend};
use super::packed::PackedBackend;
use super::tiered::{Mode, TieredBackend};
use crate::servers::postgres::query_at;
use crate::servers::redis::command_at;
use im_segment::Record;
use im_store::arguments;
use im_store::redis::Value;

pub trait Traced: Backend {
    /// Every row, key, value or byte.
    fn everything(&self) -> Vec<u8>;
}

impl Traced for EmbeddedBackend {
    fn everything(&self) -> Vec<u8> {
        let path = self.raw().path().unwrap().to_owned();
        let files = ["", "-wal", "-journal"]
            .iter()
            .flat_map(|end| std::fs::read(format!("{path}{end}")).unwrap_or_default());
        files.chain(in_segments(self)).collect()
    }
}

impl Traced for PackedBackend {
    fn everything(&self) -> Vec<u8> {
        self.plain().everything()
    }
}

/// What is packed, as text.
fn in_segments(backend: &impl Backend) -> Vec<u8> {
    let text = |record: Record| {
        [record.content, record.client_msg_id.into_bytes(), record.ext.unwrap_or_default().into_bytes()]
            .concat()
    };
    backend.packed().into_iter().flat_map(text).collect()
}

impl<M: Mode> Traced for TieredBackend<M> {
    fn everything(&self) -> Vec<u8> {
        let hot = self.redis_urls().into_iter().flat_map(|url| in_redis(&url));
        let sql = self.postgres_urls().into_iter().flat_map(|url| in_postgres(&url));
        hot.chain(sql).chain(in_segments(self)).collect()
    }
}

const DUMP: &str = "
    local out = {}
    local function add(value)
        if type(value) == 'table' then
            for _, one in ipairs(value) do add(one) end
        else
            out[#out + 1] = tostring(value)
        end
    end
    local READ = {
        string = { 'GET' }, hash = { 'HGETALL' }, set = { 'SMEMBERS' }, zset = { 'ZRANGE', 0, -1 },
        list = { 'LRANGE', 0, -1 }, stream = { 'XRANGE', '-', '+' },
    }
    for _, key in ipairs(redis.call('KEYS', '*')) do
        local read = READ[redis.call('TYPE', key).ok]
        add(key)
        add(redis.call(read[1], key, unpack(read, 2)))
    end
    return table.concat(out, '\\n')";

fn in_redis(url: &str) -> Vec<u8> {
    match command_at(url, "EVAL", arguments![DUMP, "0"]).unwrap().remove(0) {
        Value::Bytes(bytes) => bytes,
        other => panic!("{other:?}"),
    }
}

fn in_postgres(url: &str) -> Vec<u8> {
    let tables =
        query_at(url, "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'", Vec::new())
            .unwrap();
    let mut all = Vec::new();
    for mut table in tables {
        let statement =
            format!("SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM {} t", table.text().unwrap());
        all.extend(query_at(url, &statement, Vec::new()).unwrap()[0].text().unwrap().into_bytes());
    }
    all
}

/// Whether `text` is in `everything`, as it is or as PostgreSQL shows bytes.
pub fn holds(everything: &[u8], text: &str) -> bool {
    let hex: String = text.bytes().map(|byte| format!("{byte:02x}")).collect();
    [text, &hex].iter().any(|wanted| everything.windows(wanted.len()).any(|found| found == wanted.as_bytes()))
}
