-- How far each projection of idem has come, one row an entity. MySQL 8.0.16 and later, MariaDB 10.6 and later.
--
-- Names are bytes (UTF-8), so that they are compared byte for byte on either server. The primary key is what makes two
-- first versions of an entity meet: without it each would be a row.

CREATE TABLE idem_version (
    version    BIGINT          NOT NULL,
    projection VARBINARY(256)  NOT NULL CHECK (char_length(convert(projection USING utf8mb4)) BETWEEN 1 AND 64),
    entity     VARBINARY(1020) NOT NULL CHECK (char_length(convert(entity USING utf8mb4)) BETWEEN 1 AND 255),
    PRIMARY KEY (projection, entity)
) ENGINE = InnoDB;
