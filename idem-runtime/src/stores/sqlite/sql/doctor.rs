//! What an examination asks: statements of a name and a value.

use super::parts;

pub(in super::super) fn facts(table: &str) -> Vec<String> {
    let (schema, name) = parts(table);
    vec![
        "SELECT 'version', sqlite_version()".to_owned(),
        format!("SELECT 'journal_mode', journal_mode FROM pragma_journal_mode('{schema}')"),
        format!("SELECT 'pages', CAST(page_count AS TEXT) FROM pragma_page_count('{schema}')"),
        format!(
            "SELECT 'free_pages', CAST(freelist_count AS TEXT) FROM pragma_freelist_count('{schema}')"
        ),
        "SELECT 'quick_check', quick_check FROM pragma_quick_check(1)".to_owned(),
        format!(
            "SELECT 'index.' || i.name, l.name FROM {schema}.pragma_index_list('{name}') AS l, \
             {schema}.pragma_index_info(l.name) AS i WHERE i.seqno = 0"
        ),
    ]
}
