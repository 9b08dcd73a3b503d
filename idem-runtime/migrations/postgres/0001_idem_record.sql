-- The records of idem, one a key. PostgreSQL 14 and later.
--
-- Fixed-width columns come first. Keys are compared byte for byte ("C"). Payloads are bytes with a codec number beside
-- them, never json or jsonb: those refuse U+0000 and rewrite numbers.

CREATE TABLE idem_record (
    created_at          timestamptz NOT NULL,
    expires_at          timestamptz NOT NULL,
    locked_until        timestamptz,
    attempt_id          uuid        NOT NULL,
    attempt             integer     NOT NULL CHECK (attempt > 0),
    status              smallint    NOT NULL,
    fingerprint_version smallint    NOT NULL,
    codec               smallint    NOT NULL,
    namespace           text COLLATE "C" NOT NULL CHECK (char_length(namespace) BETWEEN 1 AND 64),
    scope               text COLLATE "C" NOT NULL CHECK (char_length(scope) <= 255),
    key                 text COLLATE "C" NOT NULL CHECK (char_length(key) BETWEEN 1 AND 255),
    operation           text COLLATE "C" NOT NULL CHECK (char_length(operation) BETWEEN 1 AND 255),
    fingerprint         bytea CHECK (octet_length(fingerprint) = 32),
    request             bytea,
    result              bytea,
    failure             bytea,
    CONSTRAINT idem_record_pkey PRIMARY KEY (namespace, scope, key),
    -- 1 completed, 2 failed, 3 in progress, 4 unknown, 5 released. A lease never expires: no purge may delete it.
    CONSTRAINT idem_record_status CHECK (
        CASE status
            WHEN 1 THEN result IS NOT NULL AND failure IS NULL AND locked_until IS NULL
            WHEN 2 THEN failure IS NOT NULL AND result IS NULL AND locked_until IS NULL
            WHEN 3 THEN result IS NULL AND failure IS NULL AND locked_until IS NOT NULL AND expires_at = 'infinity'
            WHEN 4 THEN result IS NULL AND failure IS NULL AND locked_until IS NOT NULL AND expires_at = 'infinity'
            WHEN 5 THEN result IS NULL AND failure IS NULL AND locked_until IS NULL
            ELSE false
        END)
);

CREATE INDEX idem_record_expires_at ON idem_record (expires_at);

CREATE INDEX idem_record_locked_until ON idem_record (locked_until) WHERE status IN (3, 4);

-- For operators: the same records, readable.
CREATE VIEW idem_record_readable AS
    SELECT namespace,
           scope,
           key,
           operation,
           CASE status WHEN 1 THEN 'completed' WHEN 2 THEN 'failed' WHEN 3 THEN 'in progress' WHEN 4 THEN 'unknown'
                       WHEN 5 THEN 'released' END AS status,
           attempt,
           created_at,
           expires_at,
           locked_until,
           encode(fingerprint, 'hex') AS fingerprint,
           CASE codec WHEN 1 THEN convert_from(request, 'UTF8') END AS request,
           CASE codec WHEN 1 THEN convert_from(result, 'UTF8') END AS result,
           CASE codec WHEN 1 THEN convert_from(failure, 'UTF8') END AS failure
      FROM idem_record;
