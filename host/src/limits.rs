//! Every limit and default of the host, with its unit and its reason, in one place.

use std::time::Duration;

// ---- HTTP edge ----

/// Where `im up` listens unless told otherwise: this machine only.
pub const LISTEN_DEFAULT: &str = "127.0.0.1:3000";

/// Connections open at once; more wait to be accepted. Each costs a file handle and its buffers.
pub const CONNECTIONS_MAX: usize = 4096;

/// Requests in work at once, streaming of the answer included. Beyond it a request is answered 503
/// at once: every one of them may cost an instance, and instances are what memory goes to.
pub const REQUESTS_CONCURRENT_MAX: usize = 256;

/// What a client is told to wait after a 503 for overload.
pub const OVERLOAD_RETRY_AFTER: Duration = Duration::from_secs(1);

/// Largest request body the host passes on. The functions' own limit (8 MiB) is below it, so their
/// more precise answer comes first; this one stops what no function should have to look at.
pub const REQUEST_BODY_BYTES_MAX: u64 = 2 * im_domain::limits::REQUEST_BYTES_MAX as u64;

/// A body up to this size takes no room of [`BODY_ROOM_KIB`]: the number of connections bounds these.
pub const BODY_SMALL_BYTES: u64 = 64 * 1024;

/// Memory for larger bodies on their way in and out, all connections together, in KiB: 32 of the
/// largest requests. Beyond it such a request is answered 503.
pub const BODY_ROOM_KIB: usize = 512 * 1024;

/// Largest answer. The functions bound what they put into one; this bounds a broken one.
pub const ANSWER_BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// How long a client may leave a write unread before its connection is cut: it holds memory.
pub const WRITE_STALL_MAX: Duration = Duration::from_secs(10);

/// How often a silent HTTP/2 connection is asked whether it still lives, and how long it may take to
/// answer.
pub const HTTP2_PING_INTERVAL: Duration = Duration::from_secs(30);

/// Requests one HTTP/2 connection may have in work.
pub const HTTP2_STREAMS_MAX: u32 = 64;

/// How long a client may take to send a body.
pub const REQUEST_BODY_READ_MAX: Duration = Duration::from_secs(30);

/// How long a client may take to send a request's head, from connecting or from the last answer on.
pub const REQUEST_HEAD_READ_MAX: Duration = Duration::from_secs(60);

/// From handing a request to a guest to the head of its answer. Then the client gets 504.
pub const REQUEST_DEADLINE: Duration = Duration::from_secs(30);

/// How long after the deadline an instance that still runs is thrown away. Later than the deadline,
/// so that the request that overran it is answered as such.
pub const INSTANCE_DEADLINE_GRACE: Duration = Duration::from_secs(1);

/// After SIGINT or SIGTERM: how long requests in work may take to finish.
pub const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Lines of the access log that may wait for a slow reader of stderr; beyond it they are dropped and
/// counted, because a full pipe must not stop the server.
pub const LOG_QUEUE_LINES_MAX: usize = 4096;

// ---- Instances ----

/// Requests one instance serves before it is replaced, so that a guest that leaks memory does so
/// within bounds. Spin's default.
pub const INSTANCE_REQUESTS_MAX: usize = 128;

/// Requests one instance works on at once. Spin's default.
pub const INSTANCE_REQUESTS_CONCURRENT_MAX: usize = 16;

/// How long an instance without work is kept. Spin's default.
pub const INSTANCE_IDLE_MAX: Duration = Duration::from_secs(1);

/// How often each component is looked at for requests that wait behind a computing guest; if none
/// of them begins from one look to the next, they get fresh instances beside it.
pub const STALL_CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Instances alive at once, all components together: one for each request in work, and as many that
/// wait for work after a burst, for each of the four functions.
pub const INSTANCES_MAX: u32 = 1024;

/// A composed component has a memory for the function and one for each dependency.
pub const INSTANCE_MEMORIES_MAX: u32 = 8;

/// Core modules (adapters and shims included) a composed component may consist of.
pub const INSTANCE_CORE_INSTANCES_MAX: u32 = 200;

/// Tables a composed component may have: about two for each core module with code.
pub const INSTANCE_TABLES_MAX: u32 = 64;

/// Linear memory of one instance, all of its components together.
pub const INSTANCE_MEMORY_BYTES_MAX: usize = 256 * 1024 * 1024;

/// Entries in one table of an instance.
pub const INSTANCE_TABLE_ELEMENTS_MAX: usize = 100_000;

/// Bookkeeping of the engine for one instance, in bytes; generous, it is only a bound.
pub const INSTANCE_RECORD_BYTES_MAX: usize = 10 * 1024 * 1024;

/// Memory kept mapped in a free slot, so that the next instance in it pays few page faults. Slots
/// that were used once keep it: [`INSTANCES_MAX`] with two memories each make at most 512 MiB.
pub const INSTANCE_MEMORY_RESIDENT_BYTES: usize = 256 * 1024;

/// A guest that computes this long is made to yield, so that it cannot hold a thread of the server.
pub const GUEST_SLICE: Duration = Duration::from_millis(10);

// ---- SQLite ----

/// Connections one instance may hold open.
pub const SQLITE_CONNECTIONS_MAX: usize = 256;

/// Bytes one statement may return. The same as Spin's bound.
pub const SQLITE_RESULT_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Prepared statements kept per connection; more than the statements of the storage component.
pub const SQLITE_STATEMENTS_CACHED: usize = 128;

/// How long one statement may run: longer than any request may.
pub const SQLITE_STATEMENT_MAX: Duration = REQUEST_DEADLINE;

/// Virtual machine steps of SQLite between two looks at the clock: about a millisecond of work.
pub const SQLITE_STEPS_PER_CHECK: i32 = 100_000;

/// How long a statement that proves long pauses once, so that another thread takes over the tasks of
/// its own: several times what waking a thread takes.
pub const SQLITE_HANDOVER_PAUSE: Duration = Duration::from_millis(1);

/// How long a writer queues for its turn before it tries without: well below the deadline of its
/// request, and above what any transaction should take.
pub const SQLITE_TURN_WAIT_MAX: Duration = Duration::from_secs(2);

// ---- Redis and PostgreSQL ----

/// Denied addresses told on stderr for one component; more would be noise of a guest's making.
pub const OUTBOUND_DENIALS_TOLD_MAX: usize = 16;

/// Connections to Redis one instance may hold: room for one for each request in work, and as many
/// nodes as are sensible. Each is a TCP connection of its own.
pub const REDIS_CONNECTIONS_MAX: usize = 256;

/// How long connecting to Redis may take, so that an unreachable node is told as such while the
/// request still has time.
pub const REDIS_CONNECT_MAX: Duration = Duration::from_secs(5);

/// Bytes one command of Redis may return. The same as Spin's bound.
pub const REDIS_REPLY_BYTES_MAX: usize = 128 * 1024 * 1024;

/// Sessions of PostgreSQL one instance may hold: as many as there are in a pool.
pub const POSTGRES_CONNECTIONS_MAX: usize = POSTGRES_POOL_CONNECTIONS_MAX;

/// Sessions in the pool of one component and address. Spin's number; who wants more waits.
pub const POSTGRES_POOL_CONNECTIONS_MAX: usize = 64;

/// Addresses for which a component keeps pools. Spin's number; the one not used longest goes.
pub const POSTGRES_POOLS_MAX: usize = 16;

/// How long connecting to PostgreSQL may take, unless the address says otherwise.
pub const POSTGRES_CONNECT_MAX: Duration = Duration::from_secs(5);

/// Bytes one statement may return. The same as Spin's bound for `query`.
pub const POSTGRES_RESULT_BYTES_MAX: usize = 128 * 1024 * 1024;

// ---- Private servers of `im up --with-servers` ----

/// How long a private server may take until it answers: it may have much to read back.
pub const SERVER_READY_MAX: Duration = Duration::from_secs(60);

/// How long one question to a server that starts may take.
pub const SERVER_PROBE_MAX: Duration = Duration::from_secs(2);

/// How long a private server may take to end before it is killed.
pub const SERVER_STOP_MAX: Duration = Duration::from_secs(30);

/// Sessions of the private PostgreSQL: a full pool for each of the four functions, and some for
/// people.
pub const SERVER_POSTGRES_CONNECTIONS_MAX: usize = 4 * POSTGRES_POOL_CONNECTIONS_MAX + 16;

// ---- Schedule ----

/// Shortest interval a component's schedule may name.
pub const SCHEDULE_INTERVAL_MIN: Duration = Duration::from_secs(1);

/// Life of the token that a scheduled call carries: longer than a call can take.
pub const SCHEDULE_TOKEN_LIFE: Duration = Duration::from_secs(60);

// ---- Tokens and keys ----

/// Bytes of a signing key made by `im`: as long as the digest of HS256, as RFC 7518 asks.
pub const KEY_BYTES: usize = 32;

/// Shortest secret accepted for HS256, the functions' own bound.
pub const KEY_BYTES_MIN: usize = im_domain::limits::HS256_SECRET_BYTES_MIN;

/// Life of a token made by `im token` unless told otherwise.
pub const TOKEN_LIFE_DEFAULT: Duration = Duration::from_secs(3600);

// ---- Inputs ----

/// Largest manifest, variable file or key file read.
pub const CONFIG_BYTES_MAX: u64 = 1024 * 1024;
