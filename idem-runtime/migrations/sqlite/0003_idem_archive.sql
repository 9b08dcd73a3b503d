-- What a purge has deleted, one row for each record, written in the transaction that deletes it. SQLite 3.37 and later
-- (STRICT tables). Only a purge with an archive needs it, and nothing reads it but you.
--
-- Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE idem_archive (
    id                  INTEGER PRIMARY KEY AUTOINCREMENT,
    archived_at         INTEGER NOT NULL,
    -- Who archived: a name, and the account of the session, which SQLite does not have.
    actor               TEXT    NOT NULL CHECK (length(actor) BETWEEN 1 AND 255),
    account             TEXT,
    -- Why: `expired`, or `unknown` for an outcome that nobody has settled.
    why                 TEXT    NOT NULL,
    -- The record, as it was: who, what, when, and how it ended (status: 1 completed, 2 failed, 4 unknown, 5 released).
    on_table            TEXT    NOT NULL,
    namespace           TEXT    NOT NULL,
    scope               TEXT    NOT NULL,
    record_key          TEXT    NOT NULL,
    operation           TEXT    NOT NULL,
    status              INTEGER NOT NULL,
    attempt             INTEGER NOT NULL,
    attempt_id          BLOB    NOT NULL,
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    locked_until        INTEGER,
    -- The hash of the request.
    fingerprint_version INTEGER NOT NULL,
    fingerprint         BLOB,
    codec               INTEGER NOT NULL,
    -- The SHA-256 of the result or failure, as it was stored. A payload that can be guessed can be found by it.
    payload_hash        BLOB,
    -- The payloads, only if they were asked for.
    request             BLOB,
    result              BLOB,
    failure             BLOB
) STRICT;

CREATE INDEX idem_archive_archived_at ON idem_archive (archived_at);

CREATE INDEX idem_archive_scope ON idem_archive (scope, namespace, record_key);
