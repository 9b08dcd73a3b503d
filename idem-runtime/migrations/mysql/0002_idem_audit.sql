-- What operators have changed by hand, one row for each change, written in the transaction of the change. MySQL 8.0.16 and
-- later, MariaDB 10.6 and later. Only the command line and a console need it.
--
-- Grant operators INSERT and SELECT, and neither UPDATE nor DELETE. Names are bytes (UTF-8). Times are microseconds since
-- 1970-01-01T00:00:00Z.

CREATE TABLE idem_audit (
    id         BIGINT          NOT NULL AUTO_INCREMENT,
    at         BIGINT          NOT NULL,
    -- Who: the name that the operator gave, and the account of the session.
    actor      VARBINARY(1020) NOT NULL,
    account    VARBINARY(1020),
    -- What: resolve, release, purge, forget, hold, lift; of events requeue, resume, drop (`scope` is then their topic).
    action     VARBINARY(64)   NOT NULL,
    on_table   VARBINARY(127)  NOT NULL,
    namespace  VARBINARY(64),
    scope      VARBINARY(1020),
    record_key VARBINARY(1020),
    event_id   VARBINARY(64),
    -- Why.
    reason     MEDIUMBLOB      NOT NULL,
    -- The statuses or counts of the change, as a JSON object. No payload.
    detail     MEDIUMBLOB      NOT NULL,
    PRIMARY KEY (id),
    KEY idem_audit_at (at),
    -- The changes of one record, and of one event.
    KEY idem_audit_record (namespace, scope, record_key, id),
    KEY idem_audit_event (event_id, id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC DEFAULT CHARACTER SET utf8mb4;
