//! The function that raises a record, and the claim that calls it.

use sqlx::postgres::PgConnection;

use super::super::super::session::Migrate;
use crate::values::key::hex;

/// The columns that the function takes, with its parameters' types and their numbers in PostgreSQL. The claim
/// casts each to exactly this type: no other function of the name can then fit as well.
const PARAMETERS: [(&str, &str, u32); 13] = [
    ("created_at", "timestamptz", 1184),
    ("expires_at", "timestamptz", 1184),
    ("locked_until", "timestamptz", 1184),
    ("attempt_id", "uuid", 2950),
    ("attempt", "int4", 23),
    ("status", "int2", 21),
    ("fingerprint_version", "int2", 21),
    ("codec", "int2", 21),
    ("operation", "text", 25),
    ("fingerprint", "bytea", 17),
    ("request", "bytea", 17),
    ("result", "bytea", 17),
    ("failure", "bytea", 17),
];

/// Matches the record of the identity, whose parts are `$1` to `$3`.
pub(super) const KEY: &str = "r.namespace = convert_from($1, 'UTF8') AND r.scope = convert_from($2, 'UTF8') \
     AND r.key = convert_from($3, 'UTF8')";

/// Returns the body of the function, as the migration has it.
fn source() -> &'static str {
    let mut parts = <PgConnection as Migrate>::MIGRATION.split("$found$");
    parts.nth(1).unwrap_or_default()
}

/// Selects, of the table with this number, the schema, the table's and the function's names and numbers, and
/// why the function is not called: an empty text if it is.
///
/// It runs with the caller's rights, so it is called only if it belongs to the table's owner, who may put
/// triggers on the table as well, and is still the migration's. The schema's name is spliced into the claim.
pub(super) fn function(table_oid: &str) -> String {
    let types: Vec<_> = PARAMETERS
        .iter()
        .map(|(_, _, number)| number.to_string())
        .collect();
    format!(
        "SELECT n.nspname, c.relname, (c.relname || '_found')::pg_catalog.name AS proname, \
           c.oid AS table_oid, p.oid AS function_oid, \
           CASE WHEN p.oid IS NULL THEN 'missing' \
             WHEN p.proowner <> c.relowner THEN 'owner' \
             WHEN l.lanname <> 'plpgsql' OR p.prosecdef OR p.proretset OR p.proconfig IS NOT NULL \
               OR p.prorettype <> 25 OR p.provolatile <> 'v' OR p.prokind <> 'f' \
               OR replace(p.prosrc, chr(13), '') <> convert_from(decode('{}', 'hex'), 'UTF8') THEN 'text' \
             WHEN NOT has_function_privilege(p.oid, 'EXECUTE') THEN 'privilege' \
             WHEN n.nspname !~ '^[a-z_][a-z0-9_]*$' THEN 'schema' ELSE '' END AS unused \
         FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         LEFT JOIN pg_catalog.pg_proc p ON p.pronamespace = n.oid \
           AND p.proname = (c.relname || '_found')::pg_catalog.name AND p.proargtypes::text = '{}' \
         LEFT JOIN pg_catalog.pg_language l ON l.oid = p.prolang WHERE c.oid = {table_oid}",
        hex::lower(source().replace('\r', "").as_bytes()),
        types.join(" "),
    )
}

/// Selects where a table's function is, if it may be called: schema, and the numbers of table and function.
pub(super) fn callable(table: &str) -> String {
    format!(
        "SELECT concat_ws(' ', nspname, table_oid, function_oid) FROM ({}) AS found WHERE unused = ''",
        function(&format!("'{table}'::regclass")),
    )
}

/// Where a table's function is.
pub(in super::super) struct Function {
    schema: String,
    table_oid: u32,
    oid: u32,
}

impl Function {
    /// Reads the answer of [`callable`].
    pub(in super::super) fn read(answer: &str) -> Option<Self> {
        let mut words = answer.split(' ');
        let schema = words.next()?.to_owned();
        let is_plain = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_');
        let function = Self {
            table_oid: words.next()?.parse().ok()?,
            oid: words.next()?.parse().ok()?,
            schema,
        };
        (words.next().is_none() && function.schema.bytes().all(is_plain)).then_some(function)
    }
}

/// Raises if the key has a record, and returns no row. `$1` to `$3` are the identity. If the function does not
/// raise, a cast that fails does.
///
/// The function is called only of the table beside it, and only as long as it is the one that was checked:
/// PostgreSQL reads both numbers again when `search_path` or one of them changes.
pub(super) fn claim(table: &str, function: Option<&Function>) -> String {
    let raised = function.map_or_else(String::new, |function| {
        let (schema, table_oid) = (&function.schema, function.table_oid);
        let name = table.rsplit_once('.').map_or(table, |(_, name)| name);
        let name = format!("\"{schema}\".{name}_found");
        let types: Vec<_> = PARAMETERS.iter().map(|(_, kind, _)| *kind).collect();
        let values: Vec<_> = PARAMETERS
            .iter()
            .map(|(column, kind, _)| format!("r.{column}::pg_catalog.{kind}"))
            .collect();
        format!(
            " || coalesce(CASE WHEN '{table}'::regclass::oid = {table_oid} \
             AND '{name}({})'::regprocedure::oid = {} THEN {name}({}) END, '')",
            types.join(","),
            function.oid,
            values.join(", "),
        )
    });
    format!(
        "(bytea, bytea, bytea) AS \
         SELECT ('idem: the key has a record' || left(current_setting('idem.held'){raised}, 0))::bigint \
         FROM {table} AS r WHERE {KEY}"
    )
}
