//! The commands: each parses no more, does one thing, and prints it.

mod change;
mod client;
mod doctor;
mod explain;
mod forget;
mod generate;
mod hold;
mod list;
mod operator;
mod outbox;
mod purge;
mod release;
mod resolve;
mod schema;
mod serve;
mod show;
mod stats;

use idem_messaging::outbox::OutboxDatabase;
use idem_runtime::operate::{OperateBackend, Operator};
use sqlx::Pool;

use crate::args::{Args, Client, Command, Schema, Shared};
use crate::database::{Connected, Sessions, connect};
use crate::fault::{Fault, Outcome};

/// Runs a command.
pub(crate) async fn run(args: Args) -> Result<Outcome, Fault> {
    let Args { shared, command } = args;
    match command {
        Command::Completions { shell } => {
            generate::completions(shell);
            return Ok(Outcome::Done);
        }
        Command::Man => return generate::manual(),
        Command::Client(Client::Typescript { document }) => return client::typescript(&document),
        Command::Schema(Schema::Print { database, only }) => {
            return schema::print(&shared, database, &only);
        }
        Command::Operator(operator) => return operator::run(&operator, shared.json),
        _ => {}
    }
    let sessions = match &command {
        Command::Serve(args) => serve::sessions(args),
        _ => Sessions::ONE,
    };
    match connect(&shared, sessions).await? {
        Connected::Postgres(pool) => run_on(pool, shared, command).await,
        Connected::Mysql(pool) => run_on(pool, shared, command).await,
        Connected::Sqlite(pool) => run_on(pool, shared, command).await,
    }
}

async fn run_on<DB: OperateBackend + OutboxDatabase>(
    pool: Pool<DB>,
    shared: Shared,
    command: Command,
) -> Result<Outcome, Fault> {
    let is_json = shared.json;
    let operator = Operator::new(pool.clone()).table(&shared.table)?;
    match command {
        Command::Schema(Schema::Verify { outbox }) => {
            schema::verify(&pool, &shared, outbox.as_deref()).await
        }
        Command::Serve(args) => serve::run(pool, &shared, args).await,
        Command::Stats => stats::run(&operator, is_json).await,
        Command::List(list) => list::run(&operator, list, is_json).await,
        Command::Show { name, reveal } => show::run(&operator, &name, reveal, is_json).await,
        Command::Resolve(resolve) => resolve::run(&operator, resolve, is_json).await,
        Command::Release { name, sign } => release::run(&operator, &name, &sign, is_json).await,
        Command::Purge(purge) => purge::run(&operator, purge, is_json).await,
        Command::Forget { scope, sign } => forget::run(&operator, &scope, &sign, is_json).await,
        Command::Hold(hold) => hold::run(&operator, hold, is_json).await,
        Command::Doctor { broker_window } => doctor::run(&operator, broker_window, is_json).await,
        Command::Outbox(args) => outbox::run(&pool, args, is_json).await,
        Command::Explain {
            name,
            request,
            operation,
            reveal,
        } => explain::run(&operator, &name, &request, operation, (reveal, is_json)).await,
        // Answered without a database.
        Command::Client(_)
        | Command::Completions { .. }
        | Command::Man
        | Command::Operator(_)
        | Command::Schema(Schema::Print { .. }) => Ok(Outcome::Done),
    }
}
