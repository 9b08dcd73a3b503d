//! PostgreSQL: a server of the machine's package that ends with this program, or the one of a URL.

use std::error::Error;

use idem_messaging::versions;
use idem_tests_cluster::{Cluster, Options};
use sqlx::PgPool;
use tokio::task::spawn_blocking;

/// The database.
pub type Db = sqlx::Postgres;

/// The server, if this program has started one.
#[derive(Debug)]
pub struct Server {
    _own: Option<Cluster>,
}

pub(super) fn versions() -> &'static str {
    versions::schema::postgres()
}

pub(super) async fn connect(
    url: Option<String>,
) -> Result<(PgPool, Server), Box<dyn Error + Send + Sync>> {
    if let Some(url) = url {
        return Ok((PgPool::connect(&url).await?, Server { _own: None }));
    }
    let cluster = spawn_blocking(|| Cluster::start(Options::new())).await??;
    let pool = PgPool::connect(&cluster.url("postgres")).await?;
    let own = Some(cluster);
    Ok((pool, Server { _own: own }))
}
