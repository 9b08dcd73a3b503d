//! What a projection counts.

use idem_messaging::versions::{Versions, schema};
use sqlx::sqlite::SqlitePoolOptions;

use crate::{record, recorded};

#[tokio::test(flavor = "current_thread")]
async fn an_event_that_a_projection_has_already_is_stale_and_projections_are_bounded() {
    let pool = SqlitePoolOptions::new().max_connections(1);
    let pool = pool.connect("sqlite::memory:").await.expect("opened");
    sqlx::raw_sql(schema::sqlite())
        .execute(&pool)
        .await
        .expect("made");
    let (versions, recorded) = (Versions::new(), recorded());
    let _guard = record(&recorded);
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.expect("begun");
    for version in [1, 1, 2, 1] {
        let _ = versions
            .advance(&mut tx, "overview", 17, version)
            .await
            .expect("advanced");
    }
    let _ = versions
        .advance_to(&mut tx, "overview", 17, 2)
        .await
        .expect("advanced");
    recorded.expect("projection_stale_total", &[("projection", "overview")], 3);
    for n in 0..300 {
        let projection = format!("projection-{n}");
        for _ in 0..2 {
            let _ = versions
                .advance(&mut tx, &projection, 17, 1)
                .await
                .expect("advanced");
        }
    }
    let text = recorded.text();
    let told_apart = text
        .lines()
        .filter(|line| line.starts_with("projection_stale_total{"));
    assert_eq!(told_apart.count(), 257);
    recorded.expect("projection_stale_total", &[], 303);
}
