-- The outbox of idem: one row for each event that has not left, and for those that are kept. MySQL 8.0.16 and later,
-- MariaDB 10.6 and later.
--
-- `seq` is the order of appends. Names are bytes (UTF-8), so that they are compared byte for byte. Times are microseconds
-- since 1970-01-01T00:00:00Z, whatever the time zone of server or session.

CREATE TABLE idem_ledger_outbox (
    seq           BIGINT          NOT NULL AUTO_INCREMENT,
    appended_at   BIGINT          NOT NULL,
    -- When a pending event may be claimed: its delivery time, the end of its backoff, or the end of its lease.
    due_at        BIGINT,
    -- When it was to be delivered at the earliest, if not at once. It stays, whatever becomes of `due_at`.
    deliver_at    BIGINT,
    -- When it was published, or set aside as dead.
    settled_at    BIGINT,
    claim_token   BINARY(16),
    attempts      INT             NOT NULL DEFAULT 0,
    -- 0 pending, 1 published, 2 dead, 3 waiting behind an earlier event of its partition, 4 waiting for its topic to be
    -- resumed.
    state         SMALLINT        NOT NULL DEFAULT 0,
    -- 1 if the event has not left.
    live          TINYINT         AS (CASE WHEN state IN (0, 3, 4) THEN 1 END) STORED,
    id            VARBINARY(64)   NOT NULL,
    topic         VARBINARY(1020) NOT NULL,
    partition_key VARBINARY(1020),
    event_type    VARBINARY(1020) NOT NULL,
    source        VARBINARY(1020) NOT NULL,
    subject       VARBINARY(1020),
    content_type  VARBINARY(1020) NOT NULL,
    traceparent   VARBINARY(55),
    tracestate    VARBINARY(512),
    -- A JSON object of texts.
    headers       MEDIUMBLOB,
    last_error    MEDIUMBLOB,
    payload       LONGBLOB        NOT NULL,
    PRIMARY KEY (seq),
    UNIQUE KEY idem_ledger_outbox_id (id),
    -- What a claim reads: it begins at the pending events, and nothing else is among them.
    KEY idem_ledger_outbox_due (state, due_at, seq),
    -- The first event of a partition that has not left.
    KEY idem_ledger_outbox_partition (topic, partition_key, live, seq),
    KEY idem_ledger_outbox_settled (state, settled_at),
    KEY idem_ledger_outbox_held (state, topic, seq),
    CONSTRAINT idem_ledger_outbox_state CHECK (
        state BETWEEN 0 AND 4
        AND (due_at IS NOT NULL) = (state = 0)
        AND (settled_at IS NOT NULL) = (state BETWEEN 1 AND 2)
        AND (claim_token IS NULL OR state = 0))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- The topics that are paused.
CREATE TABLE idem_ledger_outbox_paused (
    topic     VARBINARY(1020) NOT NULL,
    paused_at BIGINT          NOT NULL,
    PRIMARY KEY (topic)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- The locks of ordered appends: at most 4,096 rows. The number makes each lock a write, which a cluster certifies.
CREATE TABLE idem_ledger_outbox_lock (
    slot  SMALLINT UNSIGNED NOT NULL,
    taken BIGINT UNSIGNED   NOT NULL,
    PRIMARY KEY (slot)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
