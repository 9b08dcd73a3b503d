-- How far each projection of idem has come, one row an entity. SQLite 3.37 and later.

CREATE TABLE idem_version (
    version    INTEGER NOT NULL,
    -- The version that the last call met: what it answers by.
    found      INTEGER NOT NULL,
    projection TEXT    NOT NULL COLLATE BINARY CHECK (length(projection) BETWEEN 1 AND 64),
    entity     TEXT    NOT NULL COLLATE BINARY CHECK (length(entity) BETWEEN 1 AND 255),
    PRIMARY KEY (projection, entity)
) STRICT, WITHOUT ROWID;
