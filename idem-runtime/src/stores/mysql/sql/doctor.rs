//! What an examination asks: statements of a name and a value.

/// One row for each setting. A name that one of the servers does not have is in a comment addressed to the other.
const SETTINGS: [&str; 12] = [
    "SELECT 'version', CAST(VERSION() AS CHAR)",
    "SELECT 'read_only', CAST(@@global.read_only AS CHAR)",
    "SELECT 'innodb_flush_log_at_trx_commit', CAST(@@innodb_flush_log_at_trx_commit AS CHAR)",
    "SELECT 'log_bin', CAST(@@log_bin AS CHAR)",
    "SELECT 'sync_binlog', CAST(@@sync_binlog AS CHAR)",
    "SELECT 'innodb_doublewrite', CAST(@@innodb_doublewrite AS CHAR)",
    "SELECT 'isolation', CAST(/*!80001 @@transaction_isolation */ /*M! @@tx_isolation */ AS CHAR)",
    "SELECT 'general_log', CAST(@@general_log AS CHAR)",
    "SELECT 'slow_query_log', CAST(@@slow_query_log AS CHAR)",
    "SELECT 'long_query_time', CAST(@@long_query_time AS CHAR)",
    "SELECT 'max_allowed_packet', CAST(@@max_allowed_packet AS CHAR)",
    "SELECT 'innodb_rollback_on_timeout', CAST(@@innodb_rollback_on_timeout AS CHAR)",
];

pub(in super::super) fn facts(table: &str) -> Vec<String> {
    let (schema, name) = match table.split_once('.') {
        Some((schema, name)) => (format!("'{schema}'"), name),
        None => ("DATABASE()".to_owned(), table),
    };
    let of_table = format!("table_schema = {schema} AND table_name = '{name}'");
    let table = format!(
        "SELECT 'engine', CAST(engine AS CHAR) FROM information_schema.tables WHERE {of_table} \
         UNION ALL SELECT 'data_length', CAST(data_length AS CHAR) FROM information_schema.tables WHERE {of_table} \
         UNION ALL SELECT 'data_free', CAST(data_free AS CHAR) FROM information_schema.tables WHERE {of_table}"
    );
    let indexes = format!(
        "SELECT CONCAT('index.', CONVERT(column_name USING utf8mb4)), CONVERT(index_name USING utf8mb4) \
         FROM information_schema.statistics WHERE {of_table} AND seq_in_index = 1"
    );
    let settings = SETTINGS.map(str::to_owned);
    settings.into_iter().chain([table, indexes]).collect()
}
