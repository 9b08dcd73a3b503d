//! The spelling of what operators ask for.

use crate::stores::operate::Dialect;

pub(in super::super) const DIALECT: Dialect = Dialect {
    name: "PostgreSQL",
    key: "key",
    now: "(extract(epoch FROM pg_catalog.clock_timestamp()) * 1000000)::bigint",
    account: "session_user::text",
    key_hash: Some("left(encode(sha256(convert_to(key, 'UTF8')), 'hex'), 12)"),
    number_cell: "({})::text",
    text_cell: "({})::text",
    bytes_cell: "encode({}, 'hex')",
    id_cell: "({})::text",
    time_cell: "(CASE WHEN isfinite({}) THEN (extract(epoch FROM {}) * 1000000)::bigint END)::text",
    sha256: Some("sha256({})"),
    skip_locked: "FOR UPDATE SKIP LOCKED",
    locks_holds: true,
    bytes_literal: "decode('{}', 'hex')",
    hour: "floor(extract(epoch FROM {}) / 3600)::bigint",
    // A table that was never analysed has no estimate: its bytes say more than nothing.
    row_estimate: "SELECT (CASE WHEN reltuples > 0 THEN reltuples::bigint ELSE pg_catalog.pg_relation_size(oid) / 200 END)::text \
                   FROM pg_catalog.pg_class WHERE oid = to_regclass('{}')",
    length: "octet_length({})",
    span: "(extract(epoch FROM {}) * 1000000)::bigint",
    text_literal: "convert_from(decode('{}', 'hex'), 'UTF8')",
    time_literal: "(timestamptz 'epoch' + {} * interval '1 microsecond')",
    schema: "",
};
