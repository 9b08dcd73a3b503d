-- The records of idem, one per key. PostgreSQL 14 and later.
--
-- Fixed-width columns come first. Keys are compared byte for byte ("C"). Payloads are bytes with a codec number
-- beside them, never json or jsonb, which refuse U+0000 and rewrite numbers. The types limit the lengths.
-- PostgreSQL reads each CHECK anew for each INSERT, column by column, so there is only one, and it is short. It
-- does not say which columns belong to which status: the library refuses to read a record whose columns do not
-- fit its status.

CREATE TABLE idem_record (
    created_at          timestamptz NOT NULL,
    expires_at          timestamptz NOT NULL,
    locked_until        timestamptz,
    attempt_id          uuid        NOT NULL,
    attempt             integer     NOT NULL,
    status              smallint    NOT NULL,
    fingerprint_version smallint    NOT NULL,
    codec               smallint    NOT NULL,
    -- Of a lease, the policy for a lapse: 1 the outcome becomes unknown, 2 the body may run again.
    on_lapse            smallint,
    namespace           varchar(64)  COLLATE "C" NOT NULL,
    scope               varchar(255) COLLATE "C" NOT NULL,
    key                 varchar(255) COLLATE "C" NOT NULL,
    operation           varchar(255) COLLATE "C" NOT NULL,
    fingerprint         bytea,
    -- Empty if the request was too large to be kept. Then only its hash is kept.
    request             bytea,
    result              bytea,
    failure             bytea,
    CONSTRAINT idem_record_pkey PRIMARY KEY (namespace, scope, key),
    -- status: 1 completed, with a result; 2 failed, with a failure; 3 in progress and 4 unknown, with locked_until, and
    -- without an expiry; 5 released, with none of the three.
    CONSTRAINT idem_record_status CHECK (num_nonnulls(result, failure, locked_until) <= 1)
);

CREATE INDEX idem_record_expires_at ON idem_record (expires_at);

CREATE INDEX idem_record_locked_until ON idem_record (locked_until) WHERE status IN (3, 4);

-- Lets a replay cost one round trip: an error can be sent back where rows cannot. It raises the record in a field
-- of the error that PostgreSQL writes into no log (`constraint_name`), or nothing there if the record is large.
-- It runs with the rights of its caller, who has read the record, and reads no table. Without it, or without the
-- privilege to execute it, a replay by another process than the first run's costs one round trip more.
CREATE OR REPLACE FUNCTION idem_record_found(
    created_at timestamptz, expires_at timestamptz, locked_until timestamptz, attempt_id uuid, attempt integer,
    status smallint, fingerprint_version smallint, codec smallint, operation text, fingerprint bytea, request bytea,
    result bytea, failure bytea
) RETURNS text LANGUAGE plpgsql AS $found$
BEGIN
    RAISE EXCEPTION 'idem: the key has a record' USING ERRCODE = 'ID004', CONSTRAINT = CASE
        WHEN greatest(pg_catalog.octet_length(request), pg_catalog.octet_length(result),
            pg_catalog.octet_length(failure)) OPERATOR(pg_catalog.>) 32768 THEN ''
        ELSE pg_catalog.concat_ws(',', pg_catalog.current_setting('idem.held'),
            extract(epoch FROM pg_catalog.clock_timestamp()), extract(epoch FROM created_at),
            extract(epoch FROM expires_at), coalesce(extract(epoch FROM locked_until)::pg_catalog.text, '-'),
            attempt_id, attempt, status, fingerprint_version, codec,
            pg_catalog.encode(pg_catalog.convert_to(operation, 'UTF8'), 'hex'),
            coalesce(pg_catalog.encode(fingerprint, 'hex'), '-'), coalesce(pg_catalog.encode(request, 'hex'), '-'),
            coalesce(pg_catalog.encode(result, 'hex'), '-'), coalesce(pg_catalog.encode(failure, 'hex'), '-'))
        END;
END
$found$;

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
           created_at,
           expires_at,
           locked_until,
           encode(fingerprint, 'hex') AS fingerprint,
           CASE codec WHEN 1 THEN convert_from(nullif(request, ''), 'UTF8') END AS request,
           coalesce(octet_length(request) = 0, false) AS request_too_large,
           CASE codec WHEN 1 THEN convert_from(result, 'UTF8') END AS result,
           CASE codec WHEN 1 THEN convert_from(failure, 'UTF8') END AS failure
      FROM idem_record;
