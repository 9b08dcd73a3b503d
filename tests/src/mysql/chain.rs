//! One shop with a branch at each node of a Galera cluster.

use std::time::Duration;

use idem_runtime::{Error, IdempotencyKey, Replayable};
use sqlx::mysql::{MySqlConnectOptions, MySqlDatabaseError, MySqlPool};
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, MySqlConnection};
use tokio::time::interval;

use super::payments::{Paid, Pay, PayError, pay};
use super::{Galera, Observer, Options, Shop};

/// How often a caller tries before the test fails. It only bounds a hang.
const TRIES: usize = 600;

/// Three nodes, with a pool to the same database at each.
#[derive(Debug)]
pub struct Chain {
    /// The nodes.
    pub galera: Galera,
    /// A pool for each node, in the same order.
    pub pools: Vec<MySqlPool>,
    shop: Shop,
}

impl Chain {
    /// Starts a chain on a separate cluster.
    ///
    /// # Panics
    ///
    /// Panics if the cluster does not start.
    pub async fn open(connections: u32) -> Self {
        let galera = Galera::start(3, &Options::new());
        let galera = galera.unwrap_or_else(|error| panic!("no cluster: {error}"));
        let shop = Shop::open_on(&galera.nodes()[0], 1).await;
        let mut chain = Self {
            galera,
            pools: Vec::new(),
            shop,
        };
        for node in 0..3 {
            let options = chain.options(node);
            // The tables have been replicated to this node.
            chain.in_step(node).await;
            chain.pools.push(chain.shop.pool_by(connections, options));
        }
        chain
    }

    fn options(&self, node: usize) -> MySqlConnectOptions {
        let port = self.galera.nodes()[node].port();
        self.shop.database.options().clone().port(port)
    }

    /// Watches the sessions of a node, including one that is cut off from the cluster.
    ///
    /// # Panics
    ///
    /// Panics if the node does not answer.
    pub async fn observer(&self, node: usize) -> Observer {
        let mut connection = self.connect(node).await;
        connection
            .execute("SET SESSION wsrep_dirty_reads = ON")
            .await
            .expect("it is a node of a cluster");
        Observer::new(connection)
    }

    /// Opens a connection to a node, outside any pool.
    ///
    /// # Panics
    ///
    /// Panics if the node does not answer.
    pub async fn connect(&self, node: usize) -> MySqlConnection {
        MySqlConnection::connect_with(&self.options(node))
            .await
            .expect("the node answers")
    }

    /// Opens a connection whose reads see everything that any node has committed.
    async fn in_step(&self, node: usize) -> MySqlConnection {
        // The database itself may not have been replicated yet.
        let options = self.options(node).database("mysql");
        let mut connection = MySqlConnection::connect_with(&options)
            .await
            .expect("the node answers");
        let catch_up = format!(
            "SET SESSION wsrep_sync_wait = 15; SELECT count(*) FROM user; USE `{}`; SELECT count(*) FROM idem_record",
            self.shop.database.name()
        );
        connection
            .execute(sqlx::raw_sql(AssertSqlSafe(catch_up)))
            .await
            .expect("the node is in step");
        connection
    }

    /// Asserts that each of `nodes` sees one committed payment and one committed record of this
    /// key.
    ///
    /// # Panics
    ///
    /// Panics if there is none, or more than one.
    pub async fn assert_one_effect(&self, nodes: &[usize], key: &IdempotencyKey) {
        for node in nodes {
            let mut connection = self.in_step(*node).await;
            let counts: (i64, i64) = sqlx::query_as(
                "SELECT (SELECT count(*) FROM payment WHERE `key` = ?), \
                 (SELECT count(*) FROM idem_record WHERE `key` = ?)",
            )
            .bind(key.as_str().as_bytes())
            .bind(key.as_str().as_bytes())
            .fetch_one(&mut connection)
            .await
            .expect("the node is in step");
            assert_eq!(counts, (1, 1), "payments and records at node {node}");
            connection.close().await.expect("the node answers");
        }
    }
}

/// Pays as a client does: retries after each refusal that allows it, up to a limit.
///
/// # Panics
///
/// Panics if a refusal allows no retry, or if the limit is reached.
pub async fn pay_at_last(pool: &MySqlPool, key: &IdempotencyKey, cmd: &Pay) -> Replayable<Paid> {
    let mut pause = interval(Duration::from_millis(50));
    let mut last = None;
    for _ in 0..TRIES {
        pause.tick().await;
        match pay(pool, key, cmd).await {
            Ok(paid) => return paid,
            Err(error) => {
                assert!(may_retry(&error), "no retry after this: {error:?}");
                last = Some(error);
            }
        }
    }
    panic!("never paid: {last:?}");
}

/// Returns whether a client may send the same key again: the library says so, or the library does
/// not know the outcome, or the body's own statement has lost its transaction, its node or its
/// connection.
pub fn may_retry(error: &PayError) -> bool {
    match error {
        PayError::Idempotency(Error::OutcomeUnknown { .. }) => true,
        PayError::Idempotency(error) => error.is_retryable(),
        PayError::Database(sqlx::Error::Database(error)) => error
            .try_downcast_ref::<MySqlDatabaseError>()
            .is_some_and(|error| matches!(error.number(), 1047 | 1205 | 1213)),
        PayError::Database(error) => matches!(error, sqlx::Error::Io(_)),
        PayError::Declined { .. } | PayError::BankDown => false,
    }
}
