//! What the laws about competitors need of a database.

use sqlx::{MySql, Postgres, Sqlite};

use crate::databases::{Db, Fresh};

/// A database on which transactions wait for each other.
pub(crate) trait Contended: Fresh {
    /// The statement that begins a transaction which may write.
    const BEGIN: &'static str;

    /// Waits until `count` sessions wait for a lock, where others can see that.
    async fn until_blocked(db: &Db<Self>, count: usize);
}

impl Contended for Postgres {
    const BEGIN: &'static str = "BEGIN";

    async fn until_blocked(db: &Db<Self>, count: usize) {
        let count = i64::try_from(count).expect("a small number");
        db.server.observer().await.until_blocked(count).await;
    }
}

impl Contended for MySql {
    const BEGIN: &'static str = "START TRANSACTION";

    async fn until_blocked(db: &Db<Self>, count: usize) {
        db.server.observer().await.until_blocked(count).await;
    }
}

impl Contended for Sqlite {
    const BEGIN: &'static str = "BEGIN IMMEDIATE";

    /// SQLite shows nobody who waits.
    async fn until_blocked(_: &Db<Self>, _: usize) {}
}
