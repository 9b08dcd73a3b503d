//! The connections of all peers over links to the servers, and one payment by each peer.

use std::time::{Duration, Instant};

use idem_tests_cluster::Wire;
use idempotent::valkey::ValkeyStore;
use sqlx::{Connection as _, PgPool};

use crate::Fault;
use crate::dbos_peer::{Dbos, insert};
use crate::durare::Durare;
use crate::numbers::Sample;
use crate::options::Options;
use crate::peer::Peer;
use crate::redis::{self, Fsync, Redis};
use crate::server::{Database, Path, Server, Way, settled};
use crate::work::{Pay, key, pay_one};
use crate::{course, hand};

/// The databases of the peers on PostgreSQL. dbos and durare use tables of the same names, so each
/// has a separate database with its own payments.
pub(crate) struct Databases {
    pub(crate) ours: Database,
    pub(crate) durare: Database,
    pub(crate) dbos: Database,
    port: u16,
}

impl Databases {
    pub(crate) async fn make(server: &Server) -> Result<Self, Fault> {
        let ours = server.database("ours").await?;
        let port: String = sqlx::query_scalar("SHOW port")
            .fetch_one(&mut ours.connect().await?)
            .await?;
        Ok(Self {
            ours,
            durare: server.database("durare").await?,
            dbos: server.database("dbos").await?,
            port: port.parse()?,
        })
    }

    fn url(&self, name: &str, wire: Option<&Wire>) -> String {
        let port = wire.map_or(self.port, Wire::port);
        format!("postgres://postgres@127.0.0.1:{port}/{name}?sslmode=disable")
    }
}

pub(crate) struct Field {
    pools: [PgPool; 2],
    for_dbos: PgPool,
    durare: Durare,
    dbos: Dbos,
    stores: [ValkeyStore; 2],
    /// Dropped after everything that uses them.
    wires: Vec<Wire>,
    /// How long to wait for the pings of a pool that cannot be asked whether it is idle.
    rest: Duration,
}

/// The answer to one payment.
pub(crate) struct Done {
    pub(crate) taken: Duration,
    pub(crate) id: i64,
    /// Whether it is a replay, if the peer says so.
    pub(crate) replayed: Option<bool>,
}

impl Field {
    /// Connects over links with this round trip. With `None` it connects directly and counts
    /// nothing.
    pub(crate) async fn open(
        options: &Options,
        server: &Server,
        databases: &Databases,
        redis: &[Redis; 2],
        round_trip: Option<Duration>,
    ) -> Result<Self, Fault> {
        let mut wires = Vec::new();
        if let Some(round_trip) = round_trip {
            wires.push(server.wire(round_trip)?);
            for redis in redis {
                wires.push(Wire::to(redis.port(), round_trip)?);
            }
        }
        let wire = wires.first();
        let way = |path| Way {
            path,
            wire,
            ..Way::DIRECT
        };
        let for_dbos = databases.dbos.pool(way(Path::Fused));
        let position = databases.url("durare", wire);
        let mut stores = Vec::new();
        for (index, redis) in redis.iter().enumerate() {
            let port = wires.get(1 + index).map_or(redis.port(), Wire::port);
            stores.push(redis::store(port).await?);
        }
        Ok(Self {
            pools: [Path::Fused, Path::Unfused].map(|path| databases.ours.pool(way(path))),
            durare: Durare::start(&options.durare, &["postgres", &position])?,
            dbos: Dbos::launch(databases.url("dbos", wire), for_dbos.clone()).await?,
            for_dbos,
            stores: stores.try_into().map_err(|_| "two servers of Redis")?,
            rest: Duration::from_millis(2) + 2 * round_trip.unwrap_or_default(),
            wires,
        })
    }

    /// Makes one payment. Returns once no connection is busy with it.
    pub(crate) async fn pay(
        &mut self,
        peer: Peer,
        name: &str,
        account: i64,
    ) -> Result<Done, Fault> {
        let done = self.perform(peer, name, account).await;
        for pool in self.pools.iter().chain([&self.for_dbos]) {
            settled(pool).await;
        }
        tokio::time::sleep(self.rest).await;
        done.map_err(|fault| format!("{}: {fault}", peer.name()).into())
    }

    async fn perform(&mut self, peer: Peer, name: &str, account: i64) -> Result<Done, Fault> {
        let (cmd, our_key) = (Pay::of(account), key(name));
        let begun = Instant::now();
        let (id, replayed) = match peer {
            Peer::Plain => (insert(&self.pools[0], &cmd).await?.id, None),
            Peer::PlainBesideDurare => {
                let (taken, id) = self.durare.plain(account)?;
                return Ok(Done {
                    taken,
                    id,
                    replayed: None,
                });
            }
            Peer::Durare => {
                let (taken, id) = self.durare.pay(name, account)?;
                return Ok(Done {
                    taken,
                    id,
                    replayed: None,
                });
            }
            Peer::Idem(path) => {
                let pool = &self.pools[usize::from(path == Path::Unfused)];
                let paid = pay_one(pool, &our_key, &cmd).await?;
                (paid.id, Some(paid.replayed()))
            }
            Peer::Hand(path) => {
                let (paid, replayed) = match path {
                    Path::Fused => hand::fused(&self.pools[0], &our_key, &cmd).await?,
                    Path::Unfused => hand::unfused(&self.pools[0], &our_key, &cmd).await?,
                };
                (paid.id, Some(replayed))
            }
            Peer::Course(style) => {
                let (paid, replayed) = course::pay(style, &self.pools[0], &our_key, &cmd).await?;
                (paid.id, Some(replayed))
            }
            Peer::Dbos => (self.dbos.pay(name, &cmd).await?.id, None),
            Peer::Idempotent(fsync) => {
                let store = &self.stores[usize::from(fsync == Fsync::Always)];
                let (paid, replayed) = redis::pay(store, &self.pools[0], name, &cmd).await?;
                (paid.id, Some(replayed))
            }
        };
        Ok(Done {
            taken: begun.elapsed(),
            id,
            replayed,
        })
    }

    /// Returns the number of round trips over all links.
    pub(crate) fn round_trips(&self) -> u64 {
        self.wires.iter().map(Wire::round_trips).sum()
    }

    /// Measures the round trip as a client sees it.
    pub(crate) async fn ping(&self) -> Result<Sample, Fault> {
        let mut sample = Sample::default();
        let mut connection = self.pools[0].acquire().await?;
        for count in 0..60 {
            let begun = Instant::now();
            connection.ping().await?;
            if count >= 10 {
                sample.push_time(begun.elapsed());
            }
        }
        Ok(sample)
    }

    pub(crate) async fn close(self) {
        self.dbos.shutdown().await;
        for pool in self.pools.into_iter().chain([self.for_dbos]) {
            pool.close().await;
        }
    }
}
