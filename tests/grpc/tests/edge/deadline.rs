//! Clients that go away, and deadlines that pass, while a body runs: a cancelled call leaves nothing or its whole effect.

use std::time::Duration;

use idem_runtime::IdempotencyKey;
use idem_tests::gate::{Gate, GatePoint};
use idem_tests::patience::in_time;
use idem_tests::postgres::{Shop, fresh_key};
use idem_tests::silence::QuietLink;
use tonic::{Code, Response};

use crate::bank::Bank;
use crate::client::is_replay;
use crate::shop::channel;
use idem_tests_grpc::proto::Paid;

/// Retries until the server has noticed that the first call is cancelled. Until then its key is in flight.
async fn retried(bank: &Bank, key: &IdempotencyKey) -> Response<Paid> {
    let answered = async {
        loop {
            match bank.pay(key).await {
                Err(status) if status.code() == Code::Unavailable => {}
                answer => break answer.expect("paid"),
            }
        }
    };
    in_time("the key stays in flight", answered).await
}

#[tokio::test]
async fn a_call_that_its_client_cancels_leaves_nothing_and_a_retry_has_one_effect() {
    let shop = Shop::open(4).await;
    let bank = Bank::open(shop.pool.clone()).await;
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), point);
        // The channel stays open: only the stream is reset.
        let going = tokio::spawn(bank.pay(&key));
        gate.entered().await;
        going.abort();
        assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
        shop.observer().await.until_no_transaction().await;
        shop.assert_no_effect(&key).await;
        drop(gate);
        let paid = retried(&bank, &key).await;
        assert!(!is_replay(paid.metadata()), "{point:?}");
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn a_call_whose_deadline_passes_leaves_nothing_and_a_retry_has_one_effect() {
    let shop = Shop::open(4).await;
    let bank = Bank::open(shop.pool.clone()).await;
    for point in [GatePoint::BeforeWrite, GatePoint::AfterWrite] {
        let key = fresh_key();
        let gate = Gate::at(key.as_str(), point);
        // Long enough to reach the body on an idle machine. Where it is not, nothing was done either.
        let call = bank.pay_with(&key, |request| {
            request.set_timeout(Duration::from_millis(500));
        });
        let status = call.await.expect_err("the deadline has passed");
        let ended = [Code::Cancelled, Code::DeadlineExceeded];
        assert!(ended.contains(&status.code()), "{status:?}");
        shop.observer().await.until_no_transaction().await;
        shop.assert_no_effect(&key).await;
        drop(gate);
        let paid = retried(&bank, &key).await;
        assert!(!is_replay(paid.metadata()), "{point:?}");
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn cancelled_at_any_moment_a_call_leaves_nothing_or_its_whole_effect() {
    let shop = Shop::open(4).await;
    let bank = Bank::open(shop.pool.clone()).await;
    for polls in 1..40 {
        let key = fresh_key();
        let mut call = Box::pin(bank.pay(&key));
        for _ in 0..polls {
            let once = std::future::poll_fn(|context| {
                std::task::Poll::Ready(call.as_mut().poll(context).is_ready())
            });
            if once.await {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(call);
        shop.observer().await.until_no_transaction().await;
        let effects = shop.effects(&key).await;
        assert!(effects == (0, 0) || effects == (1, 1), "{effects:?}");
        retried(&bank, &key).await;
        shop.assert_one_effect(&key).await;
    }
}

#[tokio::test]
async fn an_answer_that_is_lost_after_commit_is_replayed() {
    let shop = Shop::open(4).await;
    let bank = Bank::open(shop.pool.clone()).await;
    let link = QuietLink::to("127.0.0.1".to_owned(), bank.port).await;
    let key = fresh_key();
    let gate = Gate::at(key.as_str(), GatePoint::AfterWrite);
    let by_link = channel(([127, 0, 0, 1], link.port()).into());
    let going = tokio::spawn(Bank::pay_by(by_link, &key, |_| {}));
    gate.entered().await;
    // From here on nothing arrives: neither the answer, nor that the client has given up.
    link.silence();
    gate.open();
    let mut observer = shop.observer().await;
    observer.until("EXISTS (SELECT FROM payment)").await;
    going.abort();
    assert!(going.await.is_err_and(|gone| gone.is_cancelled()));
    let paid = bank.pay(&key).await.expect("replayed");
    assert!(is_replay(paid.metadata()));
    shop.assert_one_effect(&key).await;
}
