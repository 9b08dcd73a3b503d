-- Legal holds: while there is a row for a scope, no purge, no `idem forget` and no strict expiry deletes or replaces its records,
-- nor the archive's rows. MySQL 8.0.16 and later, MariaDB 10.6 and later. Run it in an earlier deploy than the first hold: a
-- purge that began before it knows of none.
--
-- Grant operators SELECT, INSERT and DELETE on idem_hold and SELECT, UPDATE on idem_hold_lock. Grant every account that purges,
-- or calls operations with strict expiry, SELECT on both and UPDATE on idem_hold_lock. Names are bytes (UTF-8). Times are
-- microseconds since 1970-01-01T00:00:00Z.

-- One row. Whoever reads the holds in order to delete locks it, shared; whoever places a hold changes it.
CREATE TABLE idem_hold_lock (
    id      SMALLINT NOT NULL CHECK (id = 1),
    changes BIGINT   NOT NULL,
    PRIMARY KEY (id)
) ENGINE = InnoDB;

INSERT INTO idem_hold_lock (id, changes) VALUES (1, 0);

CREATE TABLE idem_hold (
    -- The empty text is the scope that all callers share.
    scope   VARBINARY(1020) NOT NULL,
    at      BIGINT          NOT NULL,
    -- Who placed it: the name that the operator gave, and the account of the session.
    actor   VARBINARY(1020) NOT NULL,
    account VARBINARY(1020),
    -- Why.
    reason  MEDIUMBLOB      NOT NULL,
    PRIMARY KEY (scope)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;

-- Tells every account that there are holds, whether it may read them or not: an account that may not is refused, and does not
-- delete as if there were none. Do the same for every other table of records in this database.
ALTER TABLE idem_record COMMENT = 'Legal holds: idem_hold';
