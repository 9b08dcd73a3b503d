-- Optional: wakes the relays of other processes that listen (`Relay::listen`). PostgreSQL 14 and later.
--
-- The price is paid at COMMIT: NOTIFY holds a lock of the whole server from there on, so that transactions that append
-- commit one after another, whatever they write. A transaction that appends cannot be prepared (PREPARE TRANSACTION). Without
-- this trigger a relay finds events by polling.

CREATE FUNCTION idem_outbox_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_catalog.pg_notify(pg_catalog.concat('idem:outbox:', TG_RELID), '');
    RETURN NULL;
END
$$;

CREATE TRIGGER idem_outbox_notify AFTER INSERT ON idem_outbox FOR EACH STATEMENT EXECUTE FUNCTION idem_outbox_notify();
