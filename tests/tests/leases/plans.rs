//! The plans of a lease's statements, as the server itself explains them: each finds its record by the primary
//! key, and reads as much whatever the number of leases in flight and however old a snapshot is held.

use std::time::Duration;

use idem_runtime::policy::{Lease, OnLapse};
use idem_runtime::schema;
use idem_runtime::store::Outcome;
use idem_tests::patience::in_time;
use idem_tests::postgres::{Cluster, Database, Options};
use serde_json::{Value, json};
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, PgPool};

use crate::database::mails;
use crate::desk::{Desk, MailError, Then, fresh_key, send_again};

const LEASES: usize = 4_000;

/// The most blocks that a statement of one lease reads. Three indexes and the table are some twenty.
const BLOCKS: u64 = 60;

/// What the server knows of the table, and how it plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Situation {
    Analysed,
    /// As after a migration, without autovacuum.
    NeverAnalysed,
    /// The statistics are those of an empty table.
    AnalysedWhenEmpty,
    GenericPlans,
    CustomPlans,
}

pub(crate) const SITUATIONS: [Situation; 5] = [
    Situation::Analysed,
    Situation::NeverAnalysed,
    Situation::AnalysedWhenEmpty,
    Situation::GenericPlans,
    Situation::CustomPlans,
];

/// A server that writes the plan of each statement into its log.
pub(crate) struct Explained {
    pub(crate) database: Database,
    cluster: Cluster,
    situation: Situation,
}

impl Explained {
    pub(crate) async fn open(situation: Situation) -> Self {
        let options = Options::new()
            .set("autovacuum", "off")
            .set("max_connections", "50");
        let cluster = Cluster::start(options).expect("a server");
        let database = Database::fresh_on(&cluster).await;
        let mut conn = database.connect().await;
        schema::create_if_missing(&mut conn).await.expect("made");
        if situation == Situation::AnalysedWhenEmpty {
            run(&mut conn, "VACUUM ANALYZE idem_record").await;
        }
        Self {
            database,
            cluster,
            situation,
        }
    }

    /// Returns a pool whose statements are explained.
    pub(crate) fn pool(&self, connections: u32) -> PgPool {
        let mut options = self.database.options().clone().options([
            ("session_preload_libraries", "auto_explain"),
            ("auto_explain.log_min_duration", "0"),
            ("auto_explain.log_analyze", "on"),
            ("auto_explain.log_buffers", "on"),
            ("auto_explain.log_timing", "off"),
            ("auto_explain.log_format", "json"),
        ]);
        let mode = match self.situation {
            Situation::GenericPlans => Some("force_generic_plan"),
            Situation::CustomPlans => Some("force_custom_plan"),
            _ => None,
        };
        if let Some(mode) = mode {
            options = options.options([("plan_cache_mode", mode)]);
        }
        PgPoolOptions::new()
            .max_connections(connections)
            .connect_lazy_with(options)
    }

    /// Adds leases in flight, and a snapshot that keeps several versions of each.
    async fn fill(&self) -> PgConnection {
        let mut conn = self.database.connect().await;
        run(
            &mut conn,
            &format!(
                "INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
                 fingerprint_version, codec, on_lapse, namespace, scope, key, operation) \
                 SELECT now(), 'infinity', now() + interval '1 hour', gen_random_uuid(), 1, 3, 1, 1, 2, \
                 'mail', '', gen_random_uuid(), 'send' FROM generate_series(1, {LEASES})"
            ),
        )
        .await;
        if !matches!(
            self.situation,
            Situation::NeverAnalysed | Situation::AnalysedWhenEmpty
        ) {
            run(&mut conn, "ANALYZE idem_record").await;
        }
        let mut holder = self.database.connect().await;
        run(
            &mut holder,
            "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM idem_record",
        )
        .await;
        for _ in 0..3 {
            run(
                &mut conn,
                "UPDATE idem_record SET locked_until = locked_until + interval '1 second'",
            )
            .await;
        }
        conn.close().await.expect("it answers");
        holder
    }

    /// Returns the plans of all statements so far that write records in this way.
    pub(crate) async fn plans(&self, operation: &str) -> Vec<Value> {
        let mut plans = self.all_plans().await;
        plans.retain(|plan| {
            plan["Relation Name"] == "idem_record" && plan["Operation"] == operation
        });
        plans
    }

    /// Returns the plans of all statements so far.
    pub(crate) async fn all_plans(&self) -> Vec<Value> {
        // What was written before this line is in the log when the line is.
        let line = format!("plans until {}", fresh_key().as_str());
        let mut conn = self.database.connect().await;
        run(
            &mut conn,
            &format!("DO $$ BEGIN RAISE LOG '{line}'; END $$"),
        )
        .await;
        let path = self.cluster.socket_dir().join("server.log");
        let log = in_time("the log does not have the line", async {
            loop {
                let log = std::fs::read_to_string(&path).expect("a log");
                if log.contains(&format!("LOG:  {line}")) {
                    return log;
                }
                tokio::task::yield_now().await;
            }
        })
        .await;
        let plans = log.split("  plan:\n").skip(1).filter_map(|rest| {
            let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            values.next()?.ok()
        });
        plans.map(|explained| explained["Plan"].clone()).collect()
    }
}

pub(crate) async fn run(conn: &mut PgConnection, statement: &str) {
    conn.execute(sqlx::raw_sql(AssertSqlSafe(statement)))
        .await
        .unwrap_or_else(|error| panic!("{statement}: {error}"));
}

/// Checks one plan: the blocks that it reads, and the paths to the records.
fn assert_by_key(plan: &Value, at: &str) {
    let blocks = |name: &str| plan[name].as_u64().expect("a number");
    let read = blocks("Shared Hit Blocks") + blocks("Shared Read Blocks");
    assert!(read <= BLOCKS, "{at}: {read} blocks: {plan:#}");
    let mut nodes = vec![plan];
    while let Some(node) = nodes.pop() {
        nodes.extend(node["Plans"].as_array().into_iter().flatten());
        assert_ne!(node["Node Type"], "Seq Scan", "{at}: {plan:#}");
        let index = node["Index Name"].as_str();
        assert!(
            index.is_none_or(|index| index == "idem_record_pkey"),
            "{at}: {plan:#}"
        );
    }
}

/// The statements of handlers: claim, heartbeat, end; a takeover, and a release.
async fn run_handlers(pool: &PgPool) {
    let (desk, key) = (
        Desk::new(&[Then::Wait, Then::Fail, Then::Succeed]),
        fresh_key(),
    );
    let (through, at, by) = (pool.clone(), desk.clone(), key.clone());
    let run = tokio::spawn(async move { send_again(&through, &by, "a".to_owned(), at).await });
    let attempt = desk.reached().await;
    for _ in 0..3 {
        attempt.heartbeat().await.expect("it is ours");
    }
    desk.open();
    run.await.expect("no panic").expect("it is sent");
    let key = fresh_key();
    let failed = send_again(pool, &key, "a".to_owned(), desk.clone()).await;
    assert!(matches!(failed, Err(MailError::OutOfReach)), "{failed:?}");
    let again = send_again(pool, &key, "a".to_owned(), desk).await;
    assert_eq!(again.expect("it was released").number, 2);
}

/// The statements of the plain store, on a lease that lapses and is settled.
async fn run_store(conn: &mut PgConnection) {
    let (mails, key) = (mails(), fresh_key());
    let mut number = 0;
    for policy in [OnLapse::Unknown, OnLapse::Retry] {
        let lease = Lease::new(Duration::from_mins(10), policy).expect("within bounds");
        for _ in 0..2 {
            let mut bound = mails.in_connection(conn);
            match bound.begin_leased(&key, "send", &json!(1), lease).await {
                Ok(Outcome::Fresh(held)) => {
                    number += 1;
                    bound.extend(&held).await.expect("it is ours");
                }
                Ok(other) => panic!("{other:?}"),
                Err(idem_runtime::Error::OutcomeUnknown { .. }) => {
                    let unknown = bound.look_up(&key).await.expect("it answers");
                    let unknown = unknown.expect("it is unknown");
                    let settled = bound.resolve_never_happened(&unknown).await;
                    settled.expect("it is settled");
                    continue;
                }
                Err(error) => panic!("{error}"),
            }
            let lapse = format!(
                "UPDATE idem_record SET locked_until = now() - interval '1 second' \
                 WHERE namespace = 'mail' AND scope = '' AND key = '{}'",
                key.as_str()
            );
            run(conn, &lapse).await;
        }
    }
    assert_eq!(
        number, 3,
        "a claim, one after a settlement, one that took over"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leases_statements_find_their_record_by_its_key_in_every_plan_under_an_old_snapshot() {
    for situation in SITUATIONS {
        let explained = Explained::open(situation).await;
        let (pool, stores) = (explained.pool(1), explained.pool(1));
        // The plans that connections keep are made while the table is empty.
        for _ in 0..7 {
            run_handlers(&pool).await;
            run_store(&mut stores.acquire().await.expect("a connection")).await;
        }
        let before = [
            explained.plans("Update").await.len(),
            explained.plans("Insert").await.len(),
        ];
        let holder = explained.fill().await;
        run_handlers(&pool).await;
        run_store(&mut stores.acquire().await.expect("a connection")).await;
        for (operation, before, fewest) in [("Update", before[0], 10), ("Insert", before[1], 3)] {
            let plans = explained.plans(operation).await.split_off(before);
            assert!(
                plans.len() >= fewest,
                "{situation:?}: {} plans",
                plans.len()
            );
            for plan in plans {
                assert_by_key(&plan, &format!("{situation:?}"));
            }
        }
        drop(holder);
    }
}
