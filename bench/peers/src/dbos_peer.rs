//! dbos: a workflow whose id is the key, with one step that pays.
//!
//! Version 0.5.0 has no step that shares a transaction with the business write; its documentation
//! says so of its own example.

use dbos::{Config, DBOS, RunOptions, WorkflowRef};
use serde::{Deserialize, Serialize};
use sqlx::PgPool;

use crate::Fault;
use crate::work::{Paid, Pay, one};

/// The request in the form that dbos must store.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Order {
    account: i64,
    amount: i64,
    currency: String,
    note: String,
    declined: bool,
}

#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
#[error("{0}")]
struct Broken(String);

pub(crate) struct Dbos {
    dbos: DBOS,
    pay: WorkflowRef<Order, Paid, Broken>,
}

impl Dbos {
    /// Starts dbos over the system tables at `url`; the payments use `pool`.
    pub(crate) async fn launch(url: String, pool: PgPool) -> Result<Self, Fault> {
        let dbos = DBOS::new(Config {
            app_version: Some("1".into()),
            ..Config::new("idem-bench", url)
        });
        let pay = dbos.register_workflow("pay", move |order: Order| {
            let pool = pool.clone();
            async move {
                dbos::step("insert", || {
                    let (pool, account) = (pool.clone(), order.account);
                    async move {
                        let paid = insert(&pool, &Pay::of(account)).await;
                        paid.map_err(|error| dbos::Error::Application(Broken(error.to_string())))
                    }
                })
                .await
            }
        })?;
        dbos.launch().await?;
        Ok(Self { dbos, pay })
    }

    pub(crate) async fn pay(&self, key: &str, cmd: &Pay) -> Result<Paid, Fault> {
        let order = Order {
            account: cmd.account,
            amount: cmd.amount,
            currency: cmd.currency.into(),
            note: cmd.note.into(),
            declined: cmd.declined,
        };
        let options = RunOptions {
            workflow_id: Some(key),
            ..RunOptions::default()
        };
        Ok(self.pay.run_with(order, options).await?)
    }

    pub(crate) async fn shutdown(&self) {
        self.dbos.shutdown().await;
    }
}

/// Makes the payment of the plain case.
pub(crate) async fn insert(pool: &PgPool, cmd: &Pay) -> Result<Paid, sqlx::Error> {
    let mut tx = pool.begin().await?;
    let paid = one(&mut tx, cmd).await?;
    tx.commit().await?;
    Ok(paid)
}
