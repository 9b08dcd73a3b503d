//! Finds records by a key whose scope is not known, or by the hash that events have of it.

use super::error::OperateError;
use super::list::key_hash;
use super::operator::Operator;
use super::read::{RecordKey, RecordSummary, columns, ended, last_expiry, leases, name, summary};
use crate::stores::operate::{Cells, Dialect, OperateBackend, OperateSession, clock};
use crate::values::record::Timestamp;

/// The most pairs of a namespace and a scope that are tried one by one.
const PAIRS: usize = 128;

/// The ended records that one search examines, where it must examine records.
const EXAMINED: usize = 10_000;

/// The most records that a search returns.
const FOUND: usize = 50;

/// What is looked for.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Sought {
    /// A key, as the client sent it.
    Key(String),
    /// The first 12 hexadecimal digits of the SHA-256 of a key, as events have them.
    Hash(String),
}

impl std::fmt::Debug for Sought {
    /// Shows no key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key",
            Self::Hash(_) => "Hash",
        })
    }
}

/// A search for records.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Search {
    /// What is looked for.
    pub sought: Sought,
    /// The namespace, if it is known.
    pub namespace: Option<String>,
    /// The scope, if it is known; the empty text is that of all callers.
    pub scope: Option<String>,
    /// Where an earlier search has ended: [`SearchResult::further`].
    pub from: Option<Timestamp>,
}

impl Search {
    /// Creates a search in all namespaces and scopes.
    pub fn new(sought: Sought) -> Self {
        Self {
            sought,
            namespace: None,
            scope: None,
            from: None,
        }
    }
}

/// What a search has found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SearchResult {
    /// The records, at most 50.
    pub records: Vec<RecordSummary>,
    /// The number of ended records that were examined one by one; 0 if an index has led to the records.
    pub examined: usize,
    /// Where to search further; `None` if there is nothing more to examine.
    pub further: Option<Timestamp>,
    /// The database's clock when it was searched.
    pub read_at: Timestamp,
}

impl<DB: OperateBackend> Operator<DB> {
    /// Finds the records of a key. A key of at most 128 pairs of a namespace and a scope is looked up in each of them.
    /// Otherwise, and by a hash, it examines the leases and 10,000 ended records, those first that are kept longest;
    /// [`SearchResult::further`] says where the next search begins.
    ///
    /// # Errors
    /// [`OperateError::Library`]: its variant lists what the database may refuse.
    pub async fn search(&self, search: &Search) -> Result<SearchResult, OperateError> {
        let mut pooled = self.conn().await?;
        let done = self.search_on(&mut pooled.conn, search).await;
        pooled.give_back(done.is_ok()).await;
        done
    }

    async fn search_on(
        &self,
        conn: &mut DB::Connection,
        search: &Search,
    ) -> Result<SearchResult, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let now = clock(conn, &self.table).await?;
        let found = |records, examined, further| SearchResult {
            records,
            examined,
            further,
            read_at: now,
        };
        if let (Sought::Key(key), None) = (&search.sought, search.from)
            && let Some(pairs) = self.pairs(conn, search).await?
        {
            let names: Vec<_> = pairs
                .iter()
                .map(|(namespace, scope)| condition(&dialect, namespace, scope, key))
                .collect();
            return Ok(found(self.named(conn, &names, now).await?, 0, None));
        }
        let mut names = Vec::new();
        if search.from.is_none() {
            let rows = format!("{} ORDER BY locked_until DESC", leases(&dialect));
            let (some, _) = self.walk(conn, search, &rows, "locked_until").await?;
            names.extend(some);
        }
        let until = search.from.unwrap_or_else(|| last_expiry(now));
        let rows = format!("{} ORDER BY expires_at DESC", ended(&dialect, until));
        let (some, last) = self.walk(conn, search, &rows, "expires_at").await?;
        names.extend(some);
        // If all that were examined expire at one moment, the rest of that moment is passed over.
        let further = last.map(|last| {
            let before = Timestamp::from_micros(until.as_micros() - 1);
            last.min(before)
        });
        let names: Vec<_> = names.iter().map(|name| name.condition(&dialect)).collect();
        let records = self.named(conn, &names, now).await?;
        Ok(found(records, EXAMINED, further))
    }

    /// Returns the names of those that match among the first rows, and the time of the last row if there may be more.
    async fn walk(
        &self,
        conn: &mut DB::Connection,
        search: &Search,
        rows: &str,
        time: &str,
    ) -> Result<(Vec<RecordKey>, Option<Timestamp>), OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let table = self.full_table();
        let key = dialect.key;
        let statement = format!(
            "SELECT {}, {}, {} FROM (SELECT namespace, scope, {key} FROM {table} WHERE {rows} LIMIT {EXAMINED}) \
             AS examined WHERE {}",
            dialect.text_cell("namespace"),
            dialect.text_cell("scope"),
            dialect.text_cell(key),
            matching(&dialect, search),
        );
        let found = conn.cells(statement, &self.table).await?;
        let is_meant = |row: &&Cells| match (&search.sought, dialect.key_hash) {
            (Sought::Hash(hash), None) => row.text(2).is_some_and(|key| key_hash(key) == *hash),
            _ => true,
        };
        let names: Result<Vec<_>, _> = found
            .iter()
            .filter(is_meant)
            .take(FOUND)
            .map(name)
            .collect();
        let last = format!(
            "SELECT {} FROM {table} WHERE {rows} LIMIT 1 OFFSET {}",
            dialect.time_cell(time),
            EXAMINED - 1,
        );
        let last = conn.cells(last, &self.table).await?;
        Ok((names?, last.first().and_then(|row| row.time(0))))
    }

    /// Returns the pairs of a namespace and a scope in which the key may be; `None` if there are too many. An index leads
    /// from one to the next.
    async fn pairs(
        &self,
        conn: &mut DB::Connection,
        search: &Search,
    ) -> Result<Option<Vec<(String, String)>>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        if let (Some(namespace), Some(scope)) = (&search.namespace, &search.scope) {
            return Ok(Some(vec![(namespace.clone(), scope.clone())]));
        }
        let mut pairs = Vec::new();
        let mut namespace = match &search.namespace {
            Some(namespace) => Some(namespace.clone()),
            None => self.next(conn, "1 = 1", "namespace").await?,
        };
        while let Some(current) = namespace {
            let of_current = format!("namespace = {}", dialect.text(&current));
            let mut scope = match &search.scope {
                Some(scope) => Some(scope.clone()),
                None => self.next(conn, &of_current, "scope").await?,
            };
            while let Some(found) = scope {
                if pairs.len() == PAIRS {
                    return Ok(None);
                }
                let after = format!("{of_current} AND scope > {}", dialect.text(&found));
                scope = match &search.scope {
                    Some(_) => None,
                    None => self.next(conn, &after, "scope").await?,
                };
                pairs.push((current.clone(), found));
            }
            namespace = None;
            if search.namespace.is_none() {
                let after = format!("namespace > {}", dialect.text(&current));
                namespace = self.next(conn, &after, "namespace").await?;
            }
        }
        Ok(Some(pairs))
    }

    /// Returns the least value of a column under a condition.
    async fn next(
        &self,
        conn: &mut DB::Connection,
        condition: &str,
        column: &str,
    ) -> Result<Option<String>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let statement = format!(
            "SELECT {} FROM {} WHERE {condition} ORDER BY {column} LIMIT 1",
            dialect.text_cell(column),
            self.full_table(),
        );
        let rows = conn.cells(statement, &self.table).await?;
        Ok(rows.first().and_then(|row| row.text(0)).map(str::to_owned))
    }

    /// Returns the records that these conditions name.
    pub(super) async fn named(
        &self,
        conn: &mut DB::Connection,
        names: &[String],
        now: Timestamp,
    ) -> Result<Vec<RecordSummary>, OperateError> {
        let dialect = <DB::Connection as OperateSession>::DIALECT;
        let mut records = Vec::new();
        for some in names.chunks(32) {
            let statement = format!(
                "SELECT {} FROM {} WHERE ({}) LIMIT {FOUND}",
                columns(&dialect),
                self.full_table(),
                some.join(") OR ("),
            );
            for row in conn.cells(statement, &self.table).await? {
                records.push(summary(&row, now)?);
            }
        }
        records.sort_by(|a, b| a.record_key.cmp(&b.record_key));
        records.truncate(FOUND);
        Ok(records)
    }
}

fn condition(dialect: &Dialect, namespace: &str, scope: &str, key: &str) -> String {
    format!(
        "namespace = {} AND scope = {} AND {} = {}",
        dialect.text(namespace),
        dialect.text(scope),
        dialect.key,
        dialect.text(key),
    )
}

/// The condition on a row that was examined.
fn matching(dialect: &Dialect, search: &Search) -> String {
    let mut all = Vec::new();
    for (column, value) in [("namespace", &search.namespace), ("scope", &search.scope)] {
        all.extend(
            value
                .as_ref()
                .map(|value| format!("{column} = {}", dialect.text(value))),
        );
    }
    match (&search.sought, dialect.key_hash) {
        (Sought::Key(key), _) => all.push(format!("{} = {}", dialect.key, dialect.text(key))),
        (Sought::Hash(hash), Some(computed)) => {
            all.push(format!("{computed} = {}", dialect.text(hash)));
        }
        // Where the database cannot hash, all are hashed here.
        (Sought::Hash(_), None) => all.push("1 = 1".to_owned()),
    }
    all.join(" AND ")
}
