-- The ledger of idem-client: one row for each request, from the transaction that enqueues it until it is purged. MySQL 8.0.16
-- and later, MariaDB 10.6 and later. The queue, `idem_ledger_outbox`, is the next migration.
--
-- Texts are VARBINARY and BLOB, so that they are compared byte for byte. Times are microseconds since 1970-01-01T00:00:00Z.

CREATE TABLE idem_ledger (
    created_at      BIGINT         NOT NULL,
    -- When the answer was recorded.
    settled_at      BIGINT,
    -- 0 open, 1 answered, 2 refused.
    state           SMALLINT       NOT NULL DEFAULT 0,
    -- The answer's status.
    status          SMALLINT,
    -- The id of its event in the queue.
    id              VARBINARY(64)  NOT NULL,
    idempotency_key VARBINARY(255) NOT NULL,
    method          VARBINARY(32)  NOT NULL,
    url             BLOB           NOT NULL,
    -- A JSON array of pairs.
    headers         MEDIUMBLOB     NOT NULL,
    body            LONGBLOB       NOT NULL,
    answer_headers  MEDIUMBLOB,
    answer_body     LONGBLOB,
    PRIMARY KEY (id),
    -- What a purge reads.
    KEY idem_ledger_settled (settled_at),
    CONSTRAINT idem_ledger_state CHECK (
        state BETWEEN 0 AND 2
        AND (settled_at IS NOT NULL) = (state <> 0)
        AND (status IS NOT NULL) = (state <> 0)
        AND (answer_headers IS NOT NULL) = (state <> 0)
        AND (answer_body IS NOT NULL) = (state <> 0))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
