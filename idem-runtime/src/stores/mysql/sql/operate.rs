//! The spelling of what operators ask for.

use super::NOW;
use crate::stores::operate::Dialect;

pub(in super::super) const DIALECT: Dialect = Dialect {
    name: "MySQL",
    key: "`key`",
    now: NOW,
    account: "CURRENT_USER()",
    key_hash: Some("left(sha2(`key`, 256), 12)"),
    number_cell: "CAST({} AS CHAR)",
    text_cell: "CONVERT({} USING utf8mb4)",
    bytes_cell: "CONVERT(hex({}) USING utf8mb4)",
    id_cell: "CONVERT(hex({}) USING utf8mb4)",
    time_cell: "CAST(nullif({}, 9223372036854775807) AS CHAR)",
    sha256: Some("unhex(sha2({}, 256))"),
    skip_locked: "FOR UPDATE SKIP LOCKED",
    locks_holds: true,
    bytes_literal: "x'{}'",
    hour: "({} DIV 3600000000)",
    row_estimate: "SELECT CAST(table_rows AS CHAR) FROM information_schema.tables \
                   WHERE '{}' IN (table_name, concat(table_schema, '.', table_name)) \
                   AND table_schema = if(locate('.', '{}') > 0, substring_index('{}', '.', 1), DATABASE())",
    length: "octet_length({})",
    span: "{}",
    text_literal: "x'{}'",
    time_literal: "{}",
    schema: "",
};
