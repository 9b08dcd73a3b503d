-- Legal holds: while there is a row for a scope, no purge, no `idem forget` and no strict expiry deletes or replaces its records,
-- nor the archive's rows. PostgreSQL 14 and later. Run it in an earlier deploy than the first hold: a purge that began before it
-- knows of none.
--
-- Grant operators SELECT, INSERT and DELETE on idem_hold and SELECT, UPDATE on idem_hold_lock. Grant every account that purges,
-- or calls operations with strict expiry, SELECT on both and UPDATE on idem_hold_lock: to lock its row is an UPDATE's right.

-- One row. Whoever reads the holds in order to delete locks it, shared; whoever places a hold changes it.
CREATE TABLE idem_hold_lock (
    id      smallint NOT NULL CHECK (id = 1),
    changes bigint   NOT NULL,
    CONSTRAINT idem_hold_lock_pkey PRIMARY KEY (id)
);

INSERT INTO idem_hold_lock (id, changes) VALUES (1, 0);

CREATE TABLE idem_hold (
    -- The empty text is the scope that all callers share.
    scope   varchar(255) COLLATE "C" NOT NULL,
    at      timestamptz  NOT NULL,
    -- Who placed it: the name that the operator gave, and the account of the session.
    actor   varchar(255) COLLATE "C" NOT NULL,
    account varchar(255) COLLATE "C",
    -- Why.
    reason  text         COLLATE "C" NOT NULL,
    CONSTRAINT idem_hold_pkey PRIMARY KEY (scope)
);
