//! What an examination asks: statements of a name and a value.

/// The settings that matter, by their names.
const SETTINGS: &str = "SELECT name::text, setting::text FROM pg_catalog.pg_settings WHERE name IN ('server_version_num', \
     'default_transaction_isolation', 'synchronous_commit', 'fsync', 'full_page_writes', 'log_statement', \
     'log_min_duration_statement', 'log_min_error_statement', 'log_min_messages', \
     'idle_in_transaction_session_timeout', 'track_activities')";

const IN_RECOVERY: &str = "SELECT 'in_recovery', pg_catalog.pg_is_in_recovery()::text";

pub(in super::super) fn facts(table: &str) -> Vec<String> {
    let size = format!(
        "SELECT f.name, f.value::text FROM pg_catalog.pg_stat_all_tables AS s, LATERAL (VALUES \
         ('live', s.n_live_tup), ('dead', s.n_dead_tup), \
         ('days_since_vacuum', coalesce(extract(day FROM pg_catalog.clock_timestamp() - \
         greatest(s.last_vacuum, s.last_autovacuum))::bigint, -1))) AS f (name, value) \
         WHERE s.relid = '{table}'::regclass"
    );
    let indexes = format!(
        "SELECT 'index.' || coalesce(a.attname::text, '') || CASE WHEN i.indisvalid AND i.indisready THEN '' ELSE '.invalid' END, \
         c.relname::text FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid \
         LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] \
         WHERE i.indrelid = '{table}'::regclass"
    );
    let vacuum = format!(
        "SELECT 'autovacuum_off', c.relname::text FROM pg_catalog.pg_class AS c \
         WHERE c.oid = '{table}'::regclass AND 'autovacuum_enabled=false' = ANY (c.reloptions)"
    );
    vec![
        SETTINGS.to_owned(),
        IN_RECOVERY.to_owned(),
        size,
        indexes,
        vacuum,
    ]
}

/// A setting that a client sends with its first message, which a pooler drops or refuses.
pub(in super::super) const DIRECT: (&str, &str) = ("idem.direct", "on");

/// Answers the setting.
pub(in super::super) const IS_DIRECT: &str =
    "SELECT coalesce(pg_catalog.current_setting('idem.direct', true), '')";
