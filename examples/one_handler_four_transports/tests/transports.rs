//! Real clients of every transport, on one database: the same key is one effect, whatever it comes by.

mod service;

use serde_json::json;

use service::{Answer, Service, Transport};

#[tokio::test]
async fn the_same_key_over_any_two_transports_is_one_effect_replayed_in_each_ones_shape() {
    let service = Service::open().await;
    let mut payments = 0;
    for first in Transport::ALL {
        for second in Transport::ALL {
            let key = format!("{first:?}-{second:?}");
            payments += 1;
            let paid = service.pay(first, &key, 100).await;
            let id = json!(payments);
            assert_eq!(
                paid,
                Answer::Paid {
                    id: id.clone(),
                    replayed: false
                },
                "{key}"
            );
            let again = service.pay(second, &key, 100).await;
            assert_eq!(again, Answer::Paid { id, replayed: true }, "{key}");
            assert_eq!(service.count().await, (payments, payments), "{key}");
        }
    }
}

#[tokio::test]
async fn another_request_under_the_key_is_refused_by_every_transport() {
    let service = Service::open().await;
    for first in Transport::ALL {
        let key = format!("{first:?}");
        service.pay(first, &key, 100).await;
        for second in Transport::ALL {
            let refused = service.pay(second, &key, 101).await;
            assert_eq!(
                refused,
                Answer::refused("mismatch"),
                "{first:?}, {second:?}"
            );
        }
    }
    let payments = i64::try_from(Transport::ALL.len()).expect("a few");
    assert_eq!(service.count().await, (payments, payments));
}

#[tokio::test]
async fn a_call_without_a_key_is_refused_by_every_transport() {
    let service = Service::open().await;
    for transport in Transport::ALL {
        let refused = service.pay_unkeyed(transport).await;
        assert_eq!(refused, Answer::refused("key-missing"), "{transport:?}");
    }
    assert_eq!(service.count().await, (0, 0));
}

#[tokio::test]
async fn all_transports_at_once_have_one_effect() {
    let service = Service::open().await;
    for round in 1..=8 {
        let key = round.to_string();
        let mut calls = Vec::new();
        for transport in Transport::ALL {
            for _ in 0..2 {
                calls.push(service.pay_until_answered(transport, &key));
            }
        }
        let mut first = 0;
        for call in service::at_once(calls).await {
            match call {
                Answer::Paid { id, replayed } => {
                    assert_eq!(id, json!(round));
                    first += i32::from(!replayed);
                }
                other @ Answer::Refused { .. } => panic!("{other:?}"),
            }
        }
        assert_eq!((first, service.count().await), (1, (round, round)));
    }
}
