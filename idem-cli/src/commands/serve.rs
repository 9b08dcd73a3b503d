//! `idem serve`.

use std::net::SocketAddr;

use idem_console::{Console, ConsoleDatabase};
use idem_messaging::outbox::Outbox;
use sqlx::Pool;
use tokio::net::TcpListener;
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::args::{Serve, Shared};
use crate::database::Sessions;
use crate::fault::{Fault, Outcome};
use crate::operators::Operators;
use crate::view::line;

/// Returns the sessions that the pages share.
pub(super) fn sessions(serve: &Serve) -> Sessions {
    Sessions {
        connections: 4,
        statement_timeout: Some(serve.statement_timeout).filter(|limit| !limit.is_zero()),
    }
}

pub(super) async fn run<DB: ConsoleDatabase>(
    pool: Pool<DB>,
    shared: &Shared,
    serve: Serve,
) -> Result<Outcome, Fault> {
    let Serve {
        operators,
        listen,
        allow_remote,
        origin,
        outbox_table,
        no_outbox,
        statement_timeout: _,
    } = serve;
    check(listen, allow_remote)?;
    let operators = Operators::read(&operators)?;
    let mut console = Console::new(pool, operators).table(&shared.table)?;
    console = if no_outbox {
        console.without_outbox()
    } else {
        let outbox = Outbox::new().table(&outbox_table);
        console.outbox(outbox.map_err(|error| Fault::usage(error.to_string()))?)
    };
    if let Some(origin) = origin {
        if origin.starts_with("https:") {
            console = console.secure_cookie();
        }
        let at = console.origin(&origin);
        console = at.map_err(|error| Fault::usage(error.to_string()))?;
    }
    let listener = TcpListener::bind(listen).await.map_err(|error| {
        Fault::environment(format!("cannot listen on {listen}: {}", error.kind()))
            .mend("name another address with --listen")
    })?;
    let address = listener
        .local_addr()
        .map_err(|error| Fault::environment(format!("no address: {}", error.kind())))?;
    log();
    line(&format!("listening on http://{address}/"));
    let served = axum::serve(listener, console.router()).with_graceful_shutdown(async {
        // Without a handler of the signal the process ends by it, as it should.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    });
    served
        .await
        .map_err(|error| Fault::environment(format!("no longer served: {}", error.kind())))?;
    Ok(Outcome::Done)
}

/// Writes the events of the console to the standard error: who has seen payloads, and whose.
fn log() {
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr);
    // Other libraries' events may quote statements.
    let of_idem = Targets::new().with_target("idem", LevelFilter::INFO);
    let subscriber = tracing_subscriber::registry().with(lines.with_filter(of_idem));
    // Another one is set only if this function has run before.
    let _ = subscriber.try_init();
}

/// Refuses to be reached from other machines unless that is meant: the names and tokens are sent in clear.
fn check(listen: SocketAddr, allow_remote: bool) -> Result<(), Fault> {
    if listen.ip().is_loopback() || allow_remote {
        return Ok(());
    }
    Err(Fault::usage(format!(
        "{listen} can be reached from other machines, and tokens would be sent in clear"
    ))
    .mend(
        "listen on 127.0.0.1 behind a proxy with TLS (--origin https://..), or say --allow-remote",
    ))
}
