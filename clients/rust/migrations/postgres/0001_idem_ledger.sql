-- The ledger of idem-client: one row for each request, from the transaction that enqueues it until it is purged. PostgreSQL
-- 14 and later. The queue, `idem_ledger_outbox`, is the next migration.

CREATE TABLE idem_ledger (
    created_at      timestamptz  NOT NULL,
    -- When the answer was recorded.
    settled_at      timestamptz,
    -- 0 open, 1 answered, 2 refused.
    state           smallint     NOT NULL DEFAULT 0,
    -- The answer's status.
    status          smallint,
    -- The id of its event in the queue.
    id              varchar(64)  COLLATE "C" NOT NULL,
    idempotency_key varchar(255) COLLATE "C" NOT NULL,
    method          varchar(32)  COLLATE "C" NOT NULL,
    url             text         COLLATE "C" NOT NULL,
    -- A JSON array of pairs.
    headers         text         COLLATE "C" NOT NULL,
    body            bytea        NOT NULL,
    answer_headers  text         COLLATE "C",
    answer_body     bytea,
    CONSTRAINT idem_ledger_pkey PRIMARY KEY (id),
    CONSTRAINT idem_ledger_state CHECK (
        state BETWEEN 0 AND 2
        AND (settled_at IS NOT NULL) = (state <> 0)
        AND (status IS NOT NULL) = (state <> 0)
        AND (answer_headers IS NOT NULL) = (state <> 0)
        AND (answer_body IS NOT NULL) = (state <> 0))
);

-- What a purge reads.
CREATE INDEX idem_ledger_settled ON idem_ledger (settled_at) WHERE state <> 0;
