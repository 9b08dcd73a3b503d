-- The records of idem, one per key. MySQL 8.0.16 and later, MariaDB 10.6 and later.
--
-- Names are bytes (UTF-8), so that either server compares them byte for byte: no collation folds case or
-- accents or pads with spaces. Times are microseconds since 1970-01-01T00:00:00Z, independent of the time zone
-- of server and session. A lease has the expiry 9223372036854775807, which is never. Payloads are bytes with a
-- codec number beside them.

CREATE TABLE idem_record (
    created_at          BIGINT          NOT NULL,
    expires_at          BIGINT          NOT NULL,
    locked_until        BIGINT,
    -- The session whose transaction holds the key, as long as it does: CONNECTION_ID().
    session_id          BIGINT UNSIGNED,
    attempt_id          BINARY(16)      NOT NULL,
    attempt             INT             NOT NULL CHECK (attempt > 0),
    status              SMALLINT        NOT NULL,
    fingerprint_version SMALLINT        NOT NULL,
    codec               SMALLINT        NOT NULL,
    -- Of a lease, the policy for a lapse: 1 the outcome becomes unknown, 2 the body may run again.
    on_lapse            SMALLINT,
    namespace           VARBINARY(64)   NOT NULL CHECK (octet_length(namespace) > 0),
    scope               VARBINARY(1020) NOT NULL CHECK (char_length(convert(scope USING utf8mb4)) <= 255),
    `key`               VARBINARY(1020) NOT NULL CHECK (char_length(convert(`key` USING utf8mb4)) BETWEEN 1 AND 255),
    operation           VARBINARY(1020) NOT NULL CHECK (char_length(convert(operation USING utf8mb4)) <= 255),
    fingerprint         VARBINARY(32)   CHECK (octet_length(fingerprint) = 32),
    -- Empty if the request was too large to be kept. Then only its hash is kept.
    request             LONGBLOB,
    result              LONGBLOB,
    failure             LONGBLOB,
    -- The arbiter. A unique index beside it would not do, because `unique_checks = 0` may switch that off.
    PRIMARY KEY (namespace, scope, `key`),
    KEY idem_record_expires_at (expires_at),
    KEY idem_record_locked_until (locked_until),
    -- 0 a claim, visible to its own transaction only; 1 completed, 2 failed, 3 in progress, 4 unknown, 5
    -- released. A claim and a lease never expire: no purge may delete them.
    CONSTRAINT idem_record_status CHECK (
        CASE status
            WHEN 0 THEN session_id IS NOT NULL AND result IS NULL AND failure IS NULL AND locked_until IS NULL
                        AND expires_at = 9223372036854775807
            WHEN 1 THEN session_id IS NULL AND result IS NOT NULL AND failure IS NULL AND locked_until IS NULL
            WHEN 2 THEN session_id IS NULL AND failure IS NOT NULL AND result IS NULL AND locked_until IS NULL
            WHEN 3 THEN session_id IS NULL AND result IS NULL AND failure IS NULL AND locked_until IS NOT NULL
                        AND expires_at = 9223372036854775807
            WHEN 4 THEN session_id IS NULL AND result IS NULL AND failure IS NULL AND locked_until IS NOT NULL
                        AND expires_at = 9223372036854775807
            WHEN 5 THEN session_id IS NULL AND result IS NULL AND failure IS NULL AND locked_until IS NULL
            ELSE FALSE
        END),
    CONSTRAINT idem_record_operation CHECK (status = 0 OR octet_length(operation) > 0)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- For operators: the same records in readable form. Times are UTC.
CREATE VIEW idem_record_readable AS
    SELECT convert(namespace USING utf8mb4) AS namespace,
           convert(scope USING utf8mb4) AS scope,
           convert(`key` USING utf8mb4) AS `key`,
           convert(operation USING utf8mb4) AS operation,
           CASE status WHEN 0 THEN 'claimed' WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' WHEN 3 THEN 'in progress'
                       WHEN 4 THEN 'unknown' WHEN 5 THEN 'released' END AS status,
           session_id,
           attempt,
           CASE WHEN status IN (3, 4) THEN CASE on_lapse WHEN 2 THEN 'retry' ELSE 'unknown' END END AS on_lapse,
           TIMESTAMPADD(MICROSECOND, created_at, TIMESTAMP'1970-01-01 00:00:00.000000') AS created_at,
           TIMESTAMPADD(MICROSECOND, nullif(expires_at, 9223372036854775807),
                        TIMESTAMP'1970-01-01 00:00:00.000000') AS expires_at,
           TIMESTAMPADD(MICROSECOND, locked_until, TIMESTAMP'1970-01-01 00:00:00.000000') AS locked_until,
           lower(hex(fingerprint)) AS fingerprint,
           CASE codec WHEN 1 THEN convert(nullif(request, '') USING utf8mb4) END AS request,
           coalesce(octet_length(request) = 0, FALSE) AS request_too_large,
           CASE codec WHEN 1 THEN convert(result USING utf8mb4) END AS result,
           CASE codec WHEN 1 THEN convert(failure USING utf8mb4) END AS failure
      FROM idem_record;
