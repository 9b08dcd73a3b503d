//! A set inside a request, whose elements have no order.

use std::collections::{BTreeMap, HashSet};

use idem_runtime::error::Mismatch;
use idem_runtime::store::{Outcome, Store};
use idem_runtime::{Error, IdempotencyKey, Namespace, Operation};
use serde::{Deserialize, Serialize};
use sqlx::Transaction;

use crate::fixture::Fixture;
use crate::secrets::key;
use crate::stored::CallError;

const INVITE: Operation = Operation::new("values", "invite");
const KEPT: Operation = INVITE.record_request();

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Party {
    tables: BTreeMap<String, HashSet<String>>,
}

fn party(guests: impl Iterator<Item = u32>) -> Party {
    let guests = guests.map(|n| format!("guest {n}")).collect();
    let tables = BTreeMap::from([("first".to_owned(), guests)]);
    Party { tables }
}

/// Creates an equal party whose guests are serialized in a different order.
fn otherwise(party: &Party) -> Party {
    for _ in 0..1_000 {
        let guests = party.tables["first"]
            .iter()
            .cloned()
            .collect::<HashSet<_>>();
        if guests.iter().ne(party.tables["first"].iter()) {
            let tables = BTreeMap::from([("first".to_owned(), guests)]);
            return Party { tables };
        }
    }
    panic!("a thousand sets have one order")
}

async fn mismatch<P: Fixture>(
    fixture: &P,
    operation: &Operation,
    key: &IdempotencyKey,
    [first, second]: [&Party; 2],
) -> Box<Mismatch> {
    let body = async |_: &mut Transaction<'_, P::Db>| Ok::<_, CallError>(());
    let done = operation.run(&fixture.pool(), key, first, body).await;
    done.expect("the first");
    let refused = operation.run(&fixture.pool(), key, second, body).await;
    match refused.expect_err("another request").refusal() {
        Error::Mismatch(mismatch) => mismatch,
        other => panic!("no mismatch: {other:?}"),
    }
}

pub(crate) async fn a_mismatch_says_that_the_recorded_request_has_the_same_elements_in_another_order<
    P: Fixture,
>() {
    let (fixture, base) = (P::open().await, key());
    let key = |label: &str| base.child(label).expect("a label");
    let (one, more) = (party(0..20), party(0..21));
    let other = otherwise(&one);
    assert_eq!(one, other);
    let found = mismatch(&fixture, &KEPT, &key("kept"), [&one, &other]).await;
    assert!(found.differs_in_order_only);
    let text = found.to_string();
    assert!(
        text.contains("the same elements in another order"),
        "{text}"
    );
    assert!(text.contains("fingerprint::sorted"), "{text}");
    let found = mismatch(&fixture, &KEPT, &key("more"), [&one, &more]).await;
    assert!(!found.differs_in_order_only);
    assert!(!found.differing.is_empty());
    assert!(!found.to_string().contains("order"), "{found}");
    // A request that is not stored cannot be compared in detail.
    let found = mismatch(&fixture, &INVITE, &key("hashed"), [&one, &other]).await;
    assert!(!found.differs_in_order_only);

    let store: Store<Party, ()> = Store::new(Namespace::from_static("values"));
    let pool = fixture.pool();
    let mut conn = pool.acquire().await.expect("a connection");
    let mut bound = store.in_connection(&mut *conn);
    for (request, in_order_only) in [(&other, true), (&more, false)] {
        match bound.begin(&key("kept"), "invite", request).await {
            Ok(Outcome::Mismatch(found)) => {
                assert_eq!(found.differs_in_order_only, in_order_only);
            }
            other => panic!("no mismatch: {other:?}"),
        }
    }
}
