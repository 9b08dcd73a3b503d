//! The queries to the catalogue.

use super::raised::function;

/// Every column that the library writes: its type, its length in characters (0: any), and whether the library
/// leaves it null.
const COLUMNS: [(&str, &str, u16, bool); 17] = [
    ("namespace", "text", 64, false),
    ("scope", "text", 255, false),
    ("key", "text", 255, false),
    ("operation", "text", 255, false),
    ("request", "bytea", 0, true),
    ("result", "bytea", 0, true),
    ("failure", "bytea", 0, true),
    ("fingerprint", "bytea", 0, true),
    ("attempt_id", "uuid", 0, false),
    ("attempt", "integer", 0, false),
    ("status", "smallint", 0, false),
    ("fingerprint_version", "smallint", 0, false),
    ("codec", "smallint", 0, false),
    ("created_at", "timestamptz", 0, false),
    ("expires_at", "timestamptz", 0, false),
    ("locked_until", "timestamptz", 0, true),
    ("on_lapse", "smallint", 0, true),
];

/// Checks the table, in one row: of each kind of fault it returns the first, in three words.
///
/// The arbiter is a unique, valid, ready, immediate and non-partial index on exactly (namespace, scope, key),
/// with deterministic collations and PostgreSQL's own equality. Under any other equality two different keys
/// could be equal, or two equal keys accepted. A partitioned table's index is valid only if every partition has
/// its own.
pub(in super::super) fn check() -> String {
    let columns: Vec<_> = COLUMNS
        .iter()
        .enumerate()
        .map(|(n, (name, kind, length, null))| {
            format!("({n}, '{name}', '{kind}', {length}, {null})")
        })
        .collect();
    format!(
        "WITH RECURSIVE {TREE}, \
         part AS (SELECT p.oid, p.oid::regclass::text AS name, p.relpersistence::text AS persistence, \
           p.relkind::text AS kind FROM tree JOIN pg_class p ON p.oid = tree.oid), \
         wanted (n, name, kind, length, leaves_null) AS (VALUES {}), \
         col AS (SELECT w.n, w.name, a.attnum, a.atttypid, a.atttypmod, a.attnotnull, a.attgenerated, \
             a.attidentity, w.leaves_null, w.kind, w.length, \
             w.kind <> 'text' OR l.collisdeterministic IS NOT FALSE AS bytewise, \
             CASE WHEN w.length > 0 THEN 'varchar(' || w.length || ') COLLATE \"C\"' ELSE w.kind END AS type \
           FROM wanted w LEFT JOIN pg_attribute a ON a.attrelid = $1::oid AND a.attname = w.name \
             AND NOT a.attisdropped \
           LEFT JOIN pg_collation l ON l.oid = a.attcollation) \
         SELECT c.relkind::text AS kind, \
           (SELECT ARRAY[name, persistence, CASE WHEN oid = c.oid THEN 'itself' ELSE '' END] FROM part \
             WHERE persistence <> 'p' ORDER BY oid <> c.oid, oid LIMIT 1) AS transient, \
           (SELECT ARRAY[name, kind, ''] FROM part WHERE oid <> c.oid \
             AND (c.relkind <> 'p' OR kind NOT IN ('r', 'p')) ORDER BY oid LIMIT 1) AS child, \
           {ARBITER} AS arbiter, \
           coalesce((SELECT ARRAY[name, fault, type] FROM (SELECT n, name, type, CASE \
               WHEN attnum IS NULL THEN 'missing' \
               WHEN CASE kind WHEN 'text' THEN atttypid NOT IN ('text'::regtype, 'varchar'::regtype) \
                 ELSE atttypid <> kind::regtype END THEN 'type' \
               WHEN CASE kind WHEN 'text' THEN atttypmod BETWEEN 0 AND length + 3 \
                 WHEN 'timestamptz' THEN atttypmod BETWEEN 0 AND 5 ELSE false END THEN 'length' \
               WHEN attgenerated <> '' THEN 'generated' \
               WHEN attidentity = 'a' THEN 'identity' \
               WHEN leaves_null AND attnotnull THEN 'null' END AS fault FROM col) AS f \
             WHERE fault IS NOT NULL ORDER BY n LIMIT 1), \
             (SELECT ARRAY[a.attname::text, 'extra', CASE WHEN a.attnotnull THEN '' ELSE format_type(t.oid, NULL) END] \
              FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid \
              WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND NOT a.atthasdef \
                AND a.attidentity = '' AND (a.attnotnull OR t.typnotnull) AND t.typdefault IS NULL \
                AND a.attname NOT IN (SELECT name FROM wanted) ORDER BY a.attnum LIMIT 1)) AS misfit, \
           (SELECT ARRAY[name, 'collation', type] FROM col WHERE NOT bytewise ORDER BY n LIMIT 1) AS collated, \
           (SELECT ARRAY[quote_ident(t.tgname), part.name, ''] FROM pg_trigger t JOIN part ON part.oid = t.tgrelid \
             WHERE {CHANGES_ROWS} AND {IS_ENABLED} \
             ORDER BY part.oid <> c.oid, t.tgname LIMIT 1) AS trigger, \
           (SELECT ARRAY[quote_ident(r.rulename), '', ''] FROM pg_rewrite r WHERE r.ev_class = c.oid \
             AND r.ev_enabled <> 'D' ORDER BY r.rulename LIMIT 1) AS rule \
         FROM pg_class c WHERE c.oid = $1::oid",
        columns.join(", ")
    )
}

const ARBITER: &str = "EXISTS (SELECT FROM pg_index i WHERE i.indrelid = c.oid \
    AND i.indisunique AND i.indisvalid AND i.indisready AND i.indimmediate \
    AND i.indpred IS NULL AND i.indexprs IS NULL AND i.indnkeyatts = 3 \
    AND (SELECT array_agg(a.attname::text ORDER BY a.attname) \
         FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS k (attnum, n) \
         JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = k.attnum WHERE k.n <= 3) \
        = ARRAY['key', 'namespace', 'scope'] \
    AND NOT EXISTS (SELECT FROM unnest(i.indclass::oid[]) AS o (oid) \
         JOIN pg_opclass p ON p.oid = o.oid WHERE p.opcnamespace <> 'pg_catalog'::regnamespace) \
    AND NOT EXISTS (SELECT FROM unnest(i.indcollation::oid[]) AS o (oid) \
         JOIN pg_collation l ON l.oid = o.oid WHERE NOT l.collisdeterministic))";

/// Remembers a table as verified, as in `,1,2,`: the newest first, and no more than a few dozen.
pub(in super::super) const REMEMBER: &str = "\
    SELECT set_config('idem.verified', \
        left(',' || $1 || ',' || ltrim(coalesce(current_setting('idem.verified', true), ''), ','), 400), false)";

/// The table and its partitions.
const TREE: &str = "tree (oid) AS (SELECT $1::oid \
    UNION SELECT i.inhrelid FROM tree JOIN pg_inherits i ON i.inhparent = tree.oid)";

/// Matches a trigger that runs instead of a write, or before it for each row: it may change or drop the row.
const CHANGES_ROWS: &str = "(t.tgtype & 64 <> 0 OR (t.tgtype & 3 = 3 AND t.tgtype & 28 <> 0))";

/// Matches a trigger that fires in this session.
const IS_ENABLED: &str = "t.tgenabled::text IN ('A', CASE current_setting('session_replication_role') \
    WHEN 'replica' THEN 'R' ELSE 'O' END)";

/// Finds the faults that are reported and not refused. Each row has its kind, the table, and for a trigger its
/// name. The triggers of foreign keys are the server's own.
pub(in super::super) fn beside() -> String {
    format!(
        "WITH RECURSIVE {TREE}, found (kind, name, detail) AS (\
           SELECT 'trigger', t.tgrelid::regclass::text, quote_ident(t.tgname) FROM tree \
             JOIN pg_trigger t ON t.tgrelid = tree.oid \
             WHERE NOT t.tgisinternal AND NOT {CHANGES_ROWS} AND {IS_ENABLED} \
           UNION ALL SELECT 'unlogged', c.oid::regclass::text, '' FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE c.relpersistence = 'u' AND c.relkind = 'r' AND (n.nspname = ANY (current_schemas(false)) \
               OR n.oid = (SELECT relnamespace FROM pg_class WHERE oid = $1::oid)) \
           UNION ALL SELECT 'function', format('%I.%I', nspname, proname), unused FROM ({}) AS f \
             WHERE unused <> '' \
           UNION ALL SELECT 'row security', '', '' WHERE row_security_active($1::oid)) \
         SELECT kind, name, detail FROM found ORDER BY kind, name, detail LIMIT 100",
        function("$1::oid"),
    )
}
