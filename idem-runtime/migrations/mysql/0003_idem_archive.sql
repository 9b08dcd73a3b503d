-- What a purge has deleted, one row for each record, written in the transaction that deletes it. MySQL 8.0.16 and later,
-- MariaDB 10.6 and later. Only a purge with an archive needs it, and nothing reads it but you.
--
-- Grant the purging account INSERT (and SELECT, DELETE if it also ends the archive's own retention), and nobody UPDATE. Names
-- are bytes (UTF-8). Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE idem_archive (
    id                  BIGINT          NOT NULL AUTO_INCREMENT,
    archived_at         BIGINT          NOT NULL,
    -- Who archived: a name, and the account of the session.
    actor               VARBINARY(1020) NOT NULL,
    account             VARBINARY(1020),
    -- Why: `expired`, or `unknown` for an outcome that nobody has settled.
    why                 VARBINARY(64)   NOT NULL,
    -- The record, as it was: who, what, when, and how it ended (status: 1 completed, 2 failed, 4 unknown, 5 released).
    on_table            VARBINARY(127)  NOT NULL,
    namespace           VARBINARY(64)   NOT NULL,
    scope               VARBINARY(1020) NOT NULL,
    record_key          VARBINARY(1020) NOT NULL,
    operation           VARBINARY(1020) NOT NULL,
    status              SMALLINT        NOT NULL,
    attempt             INT             NOT NULL,
    attempt_id          BINARY(16)      NOT NULL,
    created_at          BIGINT          NOT NULL,
    expires_at          BIGINT          NOT NULL,
    locked_until        BIGINT,
    -- The hash of the request.
    fingerprint_version SMALLINT        NOT NULL,
    fingerprint         VARBINARY(32),
    codec               SMALLINT        NOT NULL,
    -- The SHA-256 of the result or failure, as it was stored. A payload that can be guessed can be found by it.
    payload_hash        VARBINARY(32),
    -- The payloads, only if they were asked for.
    request             LONGBLOB,
    result              LONGBLOB,
    failure             LONGBLOB,
    PRIMARY KEY (id),
    KEY idem_archive_archived_at (archived_at),
    KEY idem_archive_scope (scope, namespace, record_key)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
