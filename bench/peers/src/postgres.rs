//! The comparison on PostgreSQL: first runs and replays over two links, their round trips and WAL,
//! and a check that each peer made its payments.

use std::time::Duration;

use sqlx::{Connection as _, PgConnection};

use crate::Fault;
use crate::document::{Report, Table};
use crate::field::{Databases, Field};
use crate::numbers::{Chance, Sample, float};
use crate::options::Options;
use crate::peer::{PEERS, Peer};
use crate::redis::Redis;
use crate::server::{Database, Server};
use crate::table::{ratio, time, whole};
use crate::work::fresh_key;

/// What a peer was asked to do, and what it measured.
#[derive(Debug, Clone, Default)]
pub(crate) struct Record {
    /// The number of payments that must exist at the end.
    paid: i64,
    /// The key that is replayed, and the payment that the replay must return.
    key: String,
    id: i64,
    pub(crate) first: Sample,
    pub(crate) replay: Sample,
}

impl Record {
    pub(crate) fn of(first: Sample, replay: Sample) -> Self {
        Self {
            first,
            replay,
            ..Self::default()
        }
    }
}

/// The number of calls of each kind that are counted.
const COUNTED: usize = 10;

pub(crate) async fn run(
    options: &Options,
    server: &Server,
    redis: &[Redis; 2],
    chance: &mut Chance,
    report: &mut Report,
) -> Result<(), Fault> {
    let databases = Databases::make(server).await?;
    let mut records: Vec<_> = PEERS.iter().map(|_| Record::default()).collect();
    let links = [
        ("loopback", None, 300),
        ("1 ms", Some(Duration::from_millis(1)), 100),
    ];
    for (name, round_trip, iterations) in links {
        let mut field = Field::open(options, server, &databases, redis, round_trip).await?;
        let ping = field.ping().await?.median();
        if records[0].key.is_empty() {
            stage(&mut field, &mut records, report).await?;
        }
        for record in &mut records {
            (record.first, record.replay) = (Sample::default(), Sample::default());
        }
        let iterations = options.scaled(iterations);
        measure(&mut field, &mut records, iterations, chance).await?;
        field.close().await;
        let caption = format!(
            "PostgreSQL, {}: a ping takes {}; {iterations} iterations",
            if round_trip.is_some() {
                "a round trip of 1 ms, to Redis as well"
            } else {
                name
            },
            time(ping),
        );
        let rows: Vec<_> = PEERS.iter().map(|peer| peer.name()).zip(&records).collect();
        report.times(&format!("postgres/{name}"), &caption, &rows, chance);
    }
    let mut field = Field::open(options, server, &databases, redis, Some(Duration::ZERO)).await?;
    count(&mut field, &databases.ours, &mut records, report).await?;
    field.close().await;
    for (peer, record) in PEERS.iter().zip(&records) {
        verify(&databases, *peer, record).await?;
    }
    println!("each peer has paid once for each fresh key, and not for a replay");
    Ok(())
}

/// Pays once by each peer with the key that will be replayed. Notes the answer to the same key with
/// another request.
async fn stage(
    field: &mut Field,
    records: &mut [Record],
    report: &mut Report,
) -> Result<(), Fault> {
    for (peer, record) in PEERS.iter().zip(records) {
        let key = fresh_key().as_str().to_owned();
        record.id = field.pay(*peer, &key, peer.account()).await?.id;
        record.paid += 1;
        record.key.clone_from(&key);
        if !peer.has_key() {
            report.promise(&peer.promise(), "–");
            continue;
        }
        let other = match field.pay(*peer, &key, peer.account() + 1_000).await {
            Ok(done) if done.id == record.id => "answered as the first",
            Ok(_) => return Err(format!("{}: paid twice for a key", peer.name()).into()),
            Err(refused) => {
                println!("another request under a known key: {refused}");
                "refused"
            }
        };
        report.promise(&peer.promise(), other);
    }
    Ok(())
}

/// Makes a first run.
async fn first(field: &mut Field, peer: Peer, record: &mut Record) -> Result<Duration, Fault> {
    let done = field
        .pay(peer, fresh_key().as_str(), peer.account())
        .await?;
    record.paid += 1;
    if done.replayed == Some(true) || done.id == record.id {
        return Err(format!("{}: replayed, where the key is fresh", peer.name()).into());
    }
    Ok(done.taken)
}

async fn replay(field: &mut Field, peer: Peer, record: &Record) -> Result<Duration, Fault> {
    let done = field.pay(peer, &record.key, peer.account()).await?;
    if done.replayed == Some(false) || done.id != record.id {
        return Err(format!("{}: run, where the key is recorded", peer.name()).into());
    }
    Ok(done.taken)
}

/// Runs every case once in each iteration, in a random order.
async fn measure(
    field: &mut Field,
    records: &mut [Record],
    iterations: usize,
    chance: &mut Chance,
) -> Result<(), Fault> {
    let warm_up = 8;
    for iteration in 0..warm_up + iterations {
        for case in chance.order(2 * PEERS.len()) {
            let (index, replays) = (case / 2, case % 2 == 1);
            let (peer, record) = (PEERS[index], &mut records[index]);
            if replays && !peer.has_key() {
                continue;
            }
            let taken = if replays {
                replay(field, peer, record).await?
            } else {
                first(field, peer, record).await?
            };
            if iteration >= warm_up {
                let sample = if replays {
                    &mut record.replay
                } else {
                    &mut record.first
                };
                sample.push_time(taken);
            }
        }
    }
    Ok(())
}

/// Counts round trips and WAL of one call. They are medians, since dbos polls its queues from time
/// to time.
async fn count(
    field: &mut Field,
    database: &Database,
    records: &mut [Record],
    report: &mut Report,
) -> Result<(), Fault> {
    let mut observer = database.connect().await?;
    let mut table = Table::new(
        "Of one call on PostgreSQL: round trips with the pings of the pools (and those to Redis), and bytes of WAL",
        &[
            "",
            "first run: round trips",
            "WAL",
            "replay: round trips",
            "WAL",
        ],
    );
    database.run("CHECKPOINT").await?;
    for (peer, record) in PEERS.iter().zip(records) {
        let mut cells = vec![peer.name().to_owned()];
        for kind in ["first", "replay"] {
            if kind == "replay" && !peer.has_key() {
                cells.extend(["–".to_owned(), "–".to_owned()]);
                continue;
            }
            let (mut trips, mut bytes) = (Sample::default(), Sample::default());
            for call in 0..COUNTED + 5 {
                let (before, position) = (field.round_trips(), position(&mut observer).await?);
                if kind == "first" {
                    first(field, *peer, record).await?;
                } else {
                    replay(field, *peer, record).await?;
                }
                let written = self::position(&mut observer).await? - position;
                // The first calls prepare statements, and are the first to change pages after the
                // checkpoint.
                if call >= 5 {
                    trips.push(float(usize::try_from(field.round_trips() - before)?));
                    bytes.push(float(usize::try_from(written)?));
                }
            }
            let name = format!("postgres/{}/{kind}", peer.name());
            report.figure(&format!("{name}/round trips"), trips.median());
            report.figure(&format!("{name}/WAL"), bytes.median());
            cells.extend([whole(trips.median()), whole(bytes.median())]);
        }
        table.row(cells);
    }
    observer.close().await?;
    report.tables.push(table);
    Ok(())
}

async fn position(observer: &mut PgConnection) -> Result<i64, Fault> {
    let position = sqlx::query_scalar("SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint");
    Ok(position.fetch_one(observer).await?)
}

/// Checks that there are as many payments as fresh keys.
async fn verify(databases: &Databases, peer: Peer, record: &Record) -> Result<(), Fault> {
    let database = match peer {
        Peer::Durare | Peer::PlainBesideDurare => &databases.durare,
        Peer::Dbos => &databases.dbos,
        _ => &databases.ours,
    };
    let mut connection = database.connect().await?;
    let counted: i64 =
        sqlx::query_scalar("SELECT count(*) FROM payment WHERE account IN ($1, $1 + 1000)")
            .bind(peer.account())
            .fetch_one(&mut connection)
            .await?;
    connection.close().await?;
    if counted == record.paid {
        return Ok(());
    }
    let (name, paid) = (peer.name(), record.paid);
    Err(format!("{name}: {counted} payments for {paid} keys").into())
}

/// Formats a median, its quartiles, and the ratio to plain.
pub(crate) fn cells(sample: &Sample, plain: &Sample) -> [String; 3] {
    if sample.count() == 0 {
        return ["–", "–", "–"].map(str::to_owned);
    }
    [
        time(sample.median()),
        format!(
            "{} – {}",
            time(sample.quantile(0.25)),
            time(sample.quantile(0.75))
        ),
        ratio(sample.median() / plain.median()),
    ]
}
