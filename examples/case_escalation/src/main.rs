//! Runs the service on a port of this machine: `cargo run -p case-escalation [database file]`.
//!
//! `PORT` names another port than 3000. The database file is kept: stop the service, start it again, and
//! retries are still replayed.

use std::error::Error;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, io};

use case_escalation::app::{App, routes};
use case_escalation::notify::Notifier;
use case_escalation::store;
use idem_axum::Detached;
use idem_runtime::{PurgeWorker, lease};
use tokio::net::TcpListener;
use tokio::signal::ctrl_c;
use tokio::time::timeout;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let file = env::args_os().nth(1).map(PathBuf::from);
    let file = file.unwrap_or_else(|| env::temp_dir().join("case-escalation.db"));
    let port = match env::var("PORT") {
        Ok(port) => port
            .parse()
            .map_err(|_| io::Error::other("PORT is no port"))?,
        Err(_) => 3000,
    };
    let pool = store::open(&file).await?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    println!("{origin}, on {}; Ctrl-C ends it.", file.display());
    let purging = tokio::spawn(PurgeWorker::new(pool.clone()).run(ctrl_c()));
    let detached = Detached::new(64);
    let app = App {
        pool,
        notifier: Notifier::at(&origin),
        detached: detached.clone(),
    };
    axum::serve(listener, routes(app))
        .with_graceful_shutdown(async { drop(ctrl_c().await) })
        .await?;
    // Their callers are gone, and each holds a key until it ends.
    timeout(Duration::from_secs(30), detached.drain()).await?;
    timeout(Duration::from_secs(30), lease::drain()).await?;
    purging.await?;
    Ok(())
}
