-- How far each projection of idem has come, one row an entity. PostgreSQL 14 and later.
--
-- COLLATE "C" compares byte for byte, whatever the collation of the database. Room is left in each page, so that an
-- advance stays there.

CREATE TABLE idem_version (
    version    bigint NOT NULL,
    -- The version that the last call met: what it answers by.
    found      bigint NOT NULL,
    projection text COLLATE "C" NOT NULL CHECK (char_length(projection) BETWEEN 1 AND 64),
    entity     text COLLATE "C" NOT NULL CHECK (char_length(entity) BETWEEN 1 AND 255),
    CONSTRAINT idem_version_pkey PRIMARY KEY (projection, entity)
) WITH (fillfactor = 80);
