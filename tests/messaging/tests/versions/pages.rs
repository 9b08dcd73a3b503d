//! The statements of the page on strategies, as they stand there, on each database.

use std::sync::Arc;

use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::databases::{Db, Fresh};

const PAGE: &str = include_str!("../../../../docs/messages/strategies.md");
const COMPETITORS: usize = 10;

/// Returns the statement of this label from the page.
fn statement(label: &str) -> &'static str {
    let (_, from) = PAGE
        .split_once(&format!("```sql\n-- {label}\n"))
        .unwrap_or_else(|| panic!("the page has no statement `{label}`"));
    from.split("\n```").next().expect("it ends")
}

/// What the statements of the page are run with.
pub(crate) trait Page: Fresh {
    const TABLES: &'static str;
    fn insert_or_find(db: &Db<Self>) -> impl Future<Output = Result<i64, sqlx::Error>> + Send;
    fn raise(db: &Db<Self>, risk: i64) -> impl Future<Output = Result<(), sqlx::Error>> + Send;
    async fn number(db: &Db<Self>, text: &'static str) -> i64;
}

macro_rules! page {
    ($database:ty, $label:literal, $tables:literal, $id:expr) => {
        impl Page for $database {
            const TABLES: &'static str = $tables;

            async fn insert_or_find(db: &Db<Self>) -> Result<i64, sqlx::Error> {
                let text = statement(concat!($label, ": insert or find"));
                let query = sqlx::query(text).bind(17_i64).bind(3_i64);
                $id(query, &db.pool).await
            }

            async fn raise(db: &Db<Self>, risk: i64) -> Result<(), sqlx::Error> {
                let text = statement(concat!($label, ": maximum"));
                // MySQL's markers are in the order of the text.
                let (first, second) = if $label == "mysql" {
                    (risk, 17)
                } else {
                    (17, risk)
                };
                let query = sqlx::query(text).bind(first).bind(second);
                query.execute(&db.pool).await.map(drop)
            }

            async fn number(db: &Db<Self>, text: &'static str) -> i64 {
                let found = sqlx::query_scalar(text).fetch_one(&db.pool).await;
                found.expect("a number")
            }
        }
    };
}

macro_rules! returned {
    () => {
        async |query: sqlx::query::Query<'_, Self, <Self as sqlx::Database>::Arguments>,
               pool: &sqlx::Pool<Self>| {
            let row = query.fetch_one(pool).await?;
            sqlx::Row::try_get::<i64, _>(&row, 0)
        }
    };
}

page!(
    sqlx::Postgres,
    "postgres",
    "CREATE TABLE review_task (id bigserial PRIMARY KEY, case_id bigint, case_version bigint, \
        UNIQUE (case_id, case_version)); \
     CREATE TABLE cases (id bigint, risk bigint); INSERT INTO cases VALUES (17, 0)",
    returned!()
);
page!(
    sqlx::Sqlite,
    "sqlite",
    "CREATE TABLE review_task (id INTEGER PRIMARY KEY, case_id INTEGER, case_version INTEGER, \
        UNIQUE (case_id, case_version)); \
     CREATE TABLE cases (id INTEGER, risk INTEGER); INSERT INTO cases VALUES (17, 0)",
    returned!()
);
page!(
    sqlx::MySql,
    "mysql",
    "CREATE TABLE review_task (id BIGINT AUTO_INCREMENT PRIMARY KEY, case_id BIGINT, case_version BIGINT, \
        UNIQUE (case_id, case_version)); \
     CREATE TABLE cases (id BIGINT, risk BIGINT); INSERT INTO cases VALUES (17, 0)",
    async |query: sqlx::query::Query<'_, Self, <Self as sqlx::Database>::Arguments>,
           pool: &sqlx::Pool<Self>| {
        let done = query.execute(pool).await?;
        Ok(i64::try_from(done.last_insert_id()).expect("a small number"))
    }
);

pub(crate) async fn competitors_that_insert_or_find_get_one_row<D: Page>() {
    let db = D::fresh(D::TABLES).await;
    let start = Arc::new(Barrier::new(COMPETITORS));
    let mut competitors = JoinSet::new();
    for _ in 0..COMPETITORS {
        let (db, start) = (db.clone(), Arc::clone(&start));
        competitors.spawn(async move {
            start.wait().await;
            D::insert_or_find(&db).await.expect("an id")
        });
    }
    let ids = competitors.join_all().await;
    assert!(ids.iter().all(|id| *id == ids[0] && *id > 0), "{ids:?}");
    let rows = D::number(&db, "SELECT count(*) FROM review_task").await;
    assert_eq!(rows, 1);
}

pub(crate) async fn a_maximum_is_the_same_in_any_order_and_however_often<D: Page>() {
    let db = D::fresh(D::TABLES).await;
    let start = Arc::new(Barrier::new(COMPETITORS));
    let mut competitors = JoinSet::new();
    for risk in (0..COMPETITORS).map(|n| i64::try_from(n % 6).expect("a small number")) {
        let (db, start) = (db.clone(), Arc::clone(&start));
        competitors.spawn(async move {
            start.wait().await;
            D::raise(&db, risk).await.expect("it is raised");
        });
    }
    competitors.join_all().await;
    assert_eq!(D::number(&db, "SELECT risk FROM cases").await, 5);
}
