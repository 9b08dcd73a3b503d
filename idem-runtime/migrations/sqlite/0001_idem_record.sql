-- The records of idem, one per key. SQLite 3.37 and later (STRICT tables).
--
-- Times are microseconds since 1970-01-01T00:00:00Z. A lease has the expiry 9223372036854775807, which is
-- never. Payloads are bytes with a codec number beside them. SQLite does not check lengths by itself, so the
-- table does.

CREATE TABLE idem_record (
    created_at          INTEGER NOT NULL,
    expires_at          INTEGER NOT NULL,
    locked_until        INTEGER,
    attempt_id          BLOB    NOT NULL CHECK (length(attempt_id) = 16),
    attempt             INTEGER NOT NULL CHECK (attempt > 0),
    status              INTEGER NOT NULL,
    fingerprint_version INTEGER NOT NULL,
    codec               INTEGER NOT NULL,
    -- Of a lease, the policy for a lapse: 1 the outcome becomes unknown, 2 the body may run again.
    on_lapse            INTEGER,
    namespace           TEXT    NOT NULL CHECK (length(namespace) BETWEEN 1 AND 64),
    scope               TEXT    NOT NULL CHECK (length(scope) <= 255),
    key                 TEXT    NOT NULL CHECK (length(key) BETWEEN 1 AND 255),
    operation           TEXT    NOT NULL CHECK (length(operation) BETWEEN 1 AND 255),
    fingerprint         BLOB    CHECK (length(fingerprint) = 32),
    -- Empty if the request was too large to be kept. Then only its hash is kept.
    request             BLOB,
    result              BLOB,
    failure             BLOB,
    PRIMARY KEY (namespace, scope, key),
    -- 1 completed, 2 failed, 3 in progress, 4 unknown, 5 released. A lease never expires: no purge may delete it.
    CHECK (
        CASE status
            WHEN 1 THEN result IS NOT NULL AND failure IS NULL AND locked_until IS NULL
            WHEN 2 THEN failure IS NOT NULL AND result IS NULL AND locked_until IS NULL
            WHEN 3 THEN result IS NULL AND failure IS NULL AND locked_until IS NOT NULL
                        AND expires_at = 9223372036854775807
            WHEN 4 THEN result IS NULL AND failure IS NULL AND locked_until IS NOT NULL
                        AND expires_at = 9223372036854775807
            WHEN 5 THEN result IS NULL AND failure IS NULL AND locked_until IS NULL
            ELSE 0
        END)
) STRICT;

CREATE INDEX idem_record_expires_at ON idem_record (expires_at);

CREATE INDEX idem_record_locked_until ON idem_record (locked_until) WHERE status IN (3, 4);

-- For operators: the same records in readable form.
CREATE VIEW idem_record_readable AS
    SELECT namespace,
           scope,
           key,
           operation,
           CASE status WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' WHEN 3 THEN 'in progress' WHEN 4 THEN 'unknown'
                       WHEN 5 THEN 'released' END AS status,
           attempt,
           CASE WHEN status IN (3, 4) THEN CASE on_lapse WHEN 2 THEN 'retry' ELSE 'unknown' END END AS on_lapse,
           strftime('%Y-%m-%dT%H:%M:%fZ', created_at / 1000000.0, 'unixepoch') AS created_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', nullif(expires_at, 9223372036854775807) / 1000000.0, 'unixepoch') AS expires_at,
           strftime('%Y-%m-%dT%H:%M:%fZ', locked_until / 1000000.0, 'unixepoch') AS locked_until,
           lower(hex(fingerprint)) AS fingerprint,
           CASE codec WHEN 1 THEN CAST(nullif(request, x'') AS TEXT) END AS request,
           coalesce(length(request) = 0, 0) AS request_too_large,
           CASE codec WHEN 1 THEN CAST(result AS TEXT) END AS result,
           CASE codec WHEN 1 THEN CAST(failure AS TEXT) END AS failure
      FROM idem_record;
