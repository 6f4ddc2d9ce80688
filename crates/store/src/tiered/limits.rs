//! Limits and defaults of this engine, each with its unit and its reason.

/// Most entries of a partition's log before writes are refused, and the default: SQL is too far
/// behind. An entry is a message, a conversation made, a change of members, of a position or of what is kept
/// of a user.
pub const BACKLOG_ENTRIES_MAX: u64 = 100_000;
/// Life of an idempotency marker unless configured, in seconds: a day. After it SQL's unique key
/// decides.
pub const MARKER_LIFE_S_DEFAULT: u64 = 86_400;
/// What `seq` jumps by in the first append of a conversation in a new epoch, so that none is given
/// twice: more than the messages that can have been lost, which the backlog bounds.
pub const EPOCH_SEQ_GAP: u64 = 2 * BACKLOG_ENTRIES_MAX;
/// What a clock jumps by when a new epoch begins, in milliseconds: above the ids of the lost
/// messages, should every clock that was asked be a little behind the lost one.
pub const EPOCH_CLOCK_GAP_MS: u64 = 2_000;
/// How long after a loss of hot state a message without a marker is looked for in SQL before it is
/// stored, in milliseconds: clients whose answers were lost have tried again by then. Later retries
/// are found by the drain.
pub const DOUBT_MS: u64 = 600_000;
/// How long that look may take, in milliseconds; a store whose SQL is away too goes on without.
pub const DOUBT_LOOK_MS_MAX: u64 = 300;
/// Messages of a conversation kept hot once SQL has them: a few pages.
pub const HOT_MESSAGES_MAX: u64 = 300;
/// How long an idle conversation stays hot once SQL has all of its partition, in seconds.
pub const IDLE_LIFE_S: u64 = 3_600;
/// Names of conversations whose members on other servers one run tells what they have missed.
pub const UNTOLD_PER_RUN_MAX: u64 = 100;
/// Conversations of one call that reads how they stand.
pub const VIEWS_PER_CALL_MAX: usize = 500;
/// How long an index of a user's conversations is kept after its last use, in seconds: longer than
/// any entry waits for SQL.
pub const INDEX_LIFE_S: u64 = 7 * 86_400;
/// How precisely SQL knows when a device last synced, in milliseconds: an hour. Each device that syncs is
/// an entry of the log that often.
pub const DEVICE_NOTED_STEP_MS: u64 = 3_600_000;
/// Conversations of one step of forgetting a device: a call of a script.
pub const FORGET_CONVERSATIONS_MAX: usize = 200;
/// Users whom one call of a script tells of messages, and members read by one: some milliseconds of a
/// server's time.
pub const WAKE_USERS_MAX: usize = 1_000;
/// Conversations whose members are read by one call of a script.
pub const WAKE_CONVERSATIONS_MAX: usize = 200;
/// Messages that came after those that are told: so many are looked at for those of the recipients' own, of which the
/// hot ones are looked at by a script.
pub const WAKE_SINCE_MAX: u64 = 2_000;
/// Users whom one drain batch tells of its messages, about: a fraction of a second. The others are told
/// afterwards.
pub const WAKE_IN_DRAIN_MAX: usize = 5_000;
/// Messages of a conversation that are kept until its recipients are told, in bytes: some hundreds.
pub const DEFERRED_BYTES_MAX: u64 = 32 * 1024;
/// How long nobody else tells what somebody has begun to tell, in milliseconds: longer than it takes for the
/// largest conversation.
pub const DEFERRED_LEASE_MS: u64 = 30_000;
/// For so many times as long as it took to tell them, the recipients of a large conversation are let be: a tenth
/// of a server's time at most goes into one.
pub const DEFERRED_PAUSE: u64 = 9;
/// Users in conversations that are looked at by one call of a script.
pub const STANDINGS_MAX: usize = 500;
/// How often one call looks for further users who are due when some have nothing left to be told of.
pub const DUE_ROUNDS_MAX: usize = 4;
/// Messages of a conversation that are looked at to find the newest that count for a user.
pub const PREVIEW_LOOK_MAX: u64 = 40;
/// Conversations in which newest messages are looked for by one call of a script: each message may be as
/// large as any.
pub const PREVIEW_CONVERSATIONS_MAX: usize = 10;
/// Messages looked at to find the oldest that a user has not read.
pub const OLDEST_LOOK_MAX: u32 = 20;
/// Entries of one drain batch, which is one SQL statement.
pub const DRAIN_ENTRIES_MAX: u64 = 1_000;
/// Bytes of one drain batch, after which it is cut.
pub const DRAIN_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Life of a lease on a partition's log, in milliseconds, renewed with every batch: how long a
/// partition waits after the death of who drained it.
pub const LEASE_MS: u64 = 5_000;
/// How often a row that SQL refuses is tried before it goes to the dead letters.
pub const ROW_TRIES_MAX: u32 = 3;
/// Entries of one batch that may go to the dead letters: where more are refused something else is wrong,
/// and each costs some statements.
pub const DEAD_PER_BATCH_MAX: usize = 20;
/// Partitions drained at once by one run: as many statements are under way.
pub const DRAIN_PARTITIONS_MAX: usize = 4;
/// How long `persisted` waits for SQL, in milliseconds: within a client's patience and the host's
/// request deadline.
pub const PERSIST_WAIT_MS_MAX: u64 = 5_000;
/// Pause between two looks at whether somebody else has persisted a message, in milliseconds.
pub const PERSIST_POLL_MS: u64 = 20;
/// How often a call is tried again after it has removed what stood in its way (a clock to adopt, a
/// conversation to make hot, a message SQL knows): each try removes one.
pub const ATTEMPTS_MAX: usize = 6;
/// Longest time from the moment that a database lets go of a partition until another has it, in
/// milliseconds: after it the move is called off by whoever has to store something. The largest
/// partition is compared in that time, and the log takes what comes meanwhile.
pub const MOVE_MS_MAX: u64 = 300_000;
/// Rows of one step of a move.
pub const MOVE_ROWS_MAX: u64 = 1_000;
/// Bytes of messages of one step of a move, after which it is cut.
pub const MOVE_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// How long the old rows of partitions that have moved are kept after the last reader was told, in
/// milliseconds: longer than any request reads on.
pub const MOVED_ROWS_LIFE_MS: u64 = 10_000;
/// Pairs whose chat has an id of its own that an instance remembers.
pub const ALIASES_REMEMBERED_MAX: usize = 10_000;
