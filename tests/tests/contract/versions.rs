//! Two builds of one program on one table: a deploy, and its rollback.

use std::fmt::Debug;

use idem_runtime::store::{Outcome, Store};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::subject::{PAY, Subject, key, record, typed};

/// The types before the deploy.
mod old {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub(super) struct Pay {
        pub(super) amount: f64,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub(super) struct Paid {
        pub(super) id: u64,
    }
}

/// The types after the deploy: an optional field in request and result.
mod new {
    use super::*;

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub(super) struct Pay {
        pub(super) note: Option<String>,
        pub(super) amount: f64,
    }

    #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
    pub(super) struct Paid {
        pub(super) id: u64,
        pub(super) note: Option<String>,
    }
}

/// One build records, and the other replays.
async fn replays<S: Subject, Req, Res, Req2, Res2>(
    (request, result): (Req, Res),
    (again, expected): (Req2, Res2),
) where
    Req: Serialize + DeserializeOwned + Debug,
    Res: Serialize + DeserializeOwned + Debug,
    Req2: Serialize + DeserializeOwned + Debug,
    Res2: DeserializeOwned + Debug + PartialEq,
{
    let (subject, key) = (S::fresh().await, key("k"));
    let mut conn = subject.connect().await;
    let first: Store<Req, Res> = typed();
    record::<S, _, _>(&first, &mut conn, &key, &request, &result).await;
    let second: Store<Req2, Res2> = typed();
    let mut bound = second.in_connection(&mut conn);
    match bound.begin(&key, PAY, &again).await.unwrap() {
        Outcome::PriorResult { value } => assert_eq!(value, expected),
        other => panic!("{other:?}"),
    }
}

pub(crate) async fn an_old_record_replays_in_new_code<S: Subject>() {
    replays::<S, _, _, _, _>(
        (old::Pay { amount: 0.1 }, old::Paid { id: 17 }),
        (
            new::Pay {
                note: None,
                amount: 0.1,
            },
            new::Paid { id: 17, note: None },
        ),
    )
    .await;
}

pub(crate) async fn a_new_record_replays_in_old_code<S: Subject>() {
    replays::<S, _, _, _, _>(
        (
            new::Pay {
                note: None,
                amount: 0.1,
            },
            new::Paid {
                id: 17,
                note: Some("paid".to_owned()),
            },
        ),
        (old::Pay { amount: 0.1 }, old::Paid { id: 17 }),
    )
    .await;
}
