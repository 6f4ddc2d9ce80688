-- Who looked at what only administrators may see.
-- One statement ends at each line that ends in a semicolon.

-- `time`: in milliseconds since 1970. `action`: what was done, `versions`: former versions of the message were read.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    user TEXT NOT NULL,
    time INTEGER NOT NULL,
    action TEXT NOT NULL,
    conversation TEXT NOT NULL,
    msg_id INTEGER NOT NULL
) STRICT;

CREATE INDEX audit_time ON audit (tenant, time);
