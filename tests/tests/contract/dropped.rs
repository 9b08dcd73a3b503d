//! The store's own futures, dropped at every await point.

use idem_runtime::Error;
use idem_runtime::store::Outcome;
use idem_tests::cut::{CUTS, Cut, MANY, cut};
use serde_json::json;

use crate::subject::{PAY, Subject, expect_replay, key, record, store};

/// Several rounds: if an answer arrives before it is awaited, there is no await point at which to
/// drop.
fn rounds() -> impl Iterator<Item = (u32, Cut)> {
    (0..4).flat_map(|round| CUTS.map(|when| (round, when)))
}

pub(crate) async fn a_begin_dropped_anywhere_opens_no_transaction<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    for (round, when) in rounds() {
        let mut conn = subject.connect().await;
        for polls in 0.. {
            assert!(polls < MANY);
            let key = key(&format!("{round}-{when:?}-{polls}"));
            let mut bound = store.in_connection(&mut conn);
            let ended = cut(bound.begin(&key, PAY, &json!(1)), polls, when).await;
            // The driver may report an unread error to the next statement (sqlx on MySQL).
            let _ = store.in_connection(&mut conn).get(&key).await;
            record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("done")).await;
            let mut other = subject.connect().await;
            expect_replay(&store, &mut other, &key, &json!(1), &json!("done")).await;
            if let Some(answer) = ended {
                assert!(matches!(answer, Err(Error::NotInTransaction)), "{answer:?}");
                break;
            }
        }
    }
}

pub(crate) async fn a_begin_dropped_anywhere_in_a_transaction_ends_with_it<S: Subject>() {
    let (subject, store) = (S::fresh().await, store());
    for (round, when) in rounds() {
        let mut conn = subject.connect().await;
        for polls in 0.. {
            assert!(polls < MANY);
            let key = key(&format!("{round}-{when:?}-{polls}"));
            S::begin(&mut conn).await;
            let mut bound = store.in_transaction(&mut conn).unwrap();
            let ended = cut(bound.begin(&key, PAY, &json!(1)), polls, when).await;
            let is_fresh = ended.map(|answer| matches!(answer, Ok(Outcome::Fresh(_))));
            S::rollback(&mut conn).await;
            record::<S, _, _>(&store, &mut conn, &key, &json!(1), &json!("done")).await;
            let mut other = subject.connect().await;
            expect_replay(&store, &mut other, &key, &json!(1), &json!("done")).await;
            if let Some(is_fresh) = is_fresh {
                assert!(is_fresh);
                break;
            }
        }
    }
}
