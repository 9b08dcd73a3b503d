//! Runs the service on a port of this machine: `cargo run -p case-escalation`.
//!
//! `PORT` names another port than 3000. `DATABASE` names another database: a file of SQLite, or with the feature
//! `postgres-nats` a URL of PostgreSQL. A database that is kept replays what was asked before, also after a restart.

use std::error::Error;
use std::time::Duration;
use std::{env, io};

use case_escalation::app::{App, routes};
use case_escalation::database;
use case_escalation::notifier::Notifier;
use idem_runtime::{PurgeWorker, lease};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error + Send + Sync>> {
    let port = match env::var("PORT") {
        Ok(port) => port
            .parse()
            .map_err(|_| io::Error::other("PORT is no port"))?,
        Err(_) => 3000,
    };
    let (pool, _server) = database::open(env::var("DATABASE").ok()).await?;
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let origin = format!("http://{}", listener.local_addr()?);
    let (no_sweep, no_request) = (terminated()?, terminated()?);
    println!("{origin}; Ctrl-C ends it.");
    let purging = tokio::spawn(PurgeWorker::new(pool.clone()).run(no_sweep));
    let app = App::start(pool, Notifier::at(&origin)).await?;
    let detached = app.detached.clone();
    axum::serve(listener, routes(app))
        .with_graceful_shutdown(no_request)
        .await?;
    // Their callers are gone, and each holds a key until it ends.
    timeout(Duration::from_secs(30), detached.drain()).await?;
    timeout(Duration::from_secs(30), lease::drain()).await?;
    purging.await?;
    Ok(())
}

/// Listens from now on, and returns a future that is ready when the process is asked to end: by Ctrl-C, or by SIGTERM from a
/// process manager.
fn terminated() -> io::Result<impl Future<Output = ()>> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    })
}
