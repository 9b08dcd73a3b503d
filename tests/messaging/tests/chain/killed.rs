//! Relays that die, and relays that sleep past their lease.

use idem_messaging::outbox::{Publisher, Relay};
use idem_tests::patience::in_time;
use idem_tests_messaging::fact::Fact;
use idem_tests_messaging::ledger::Ledger;

use crate::chain::{Chain, sweep};
use crate::halting::{Halt, Halting};
use crate::site::BrokerSite;
use crate::subject::Subject;

/// Runs a relay until its publication has stopped, and kills the relay.
async fn kill_when_halted<S: Subject, P: Publisher>(
    relay: Relay<S::Db, Halting<P>>,
    publisher: &Halting<P>,
) {
    // With room for one event it claims nothing meanwhile: the server would go on with a claim of a relay that is dead.
    let relay = relay.batch(1);
    tokio::select! {
        swept = relay.sweep() => panic!("it was to be killed: {swept:?}"),
        () = publisher.until_halted() => {}
    }
}

pub(crate) async fn a_relay_killed_before_it_published_is_followed_by_another_after_its_lease<
    S: Subject<Db: Ledger>,
    B: BrokerSite,
>() {
    let chain = Chain::<S, B>::fresh().await;
    let publisher = chain.publisher().await;
    publisher.halt(&Fact::json("one"), Halt::Before);
    chain.append("one").await;
    kill_when_halted::<S, _>(chain.relay(publisher.clone()), &publisher).await;
    let other = chain.relay(publisher);
    assert_eq!(sweep::<S, _>(&other).await.published, 0);
    chain.subject.pass_time().await;
    assert_eq!(sweep::<S, _>(&other).await.published, 1);
    chain.receiver.committed(2).await;
    chain.end(&["one"]).await;
}

pub(crate) async fn a_relay_killed_between_publication_and_settlement_repeats_its_event_under_one_id<
    S: Subject<Db: Ledger>,
    B: BrokerSite,
>() {
    let chain = Chain::<S, B>::fresh().await;
    let publisher = chain.publisher().await;
    publisher.halt(&Fact::json("one"), Halt::After);
    chain.append("one").await;
    kill_when_halted::<S, _>(chain.relay(publisher.clone()), &publisher).await;
    // The effect is there, and the outbox does not know that the event has left.
    chain.receiver.committed(2).await;
    assert_eq!(chain.pending().await, 1);
    chain.subject.pass_time().await;
    assert_eq!(sweep::<S, _>(&chain.relay(publisher)).await.published, 1);
    let deliveries = if B::KEEPS_REPETITIONS { 3 } else { 2 };
    chain.receiver.committed(deliveries).await;
    chain.end(&["one"]).await;
}

pub(crate) async fn a_relay_asleep_past_its_lease_is_fenced_off<
    S: Subject<Db: Ledger>,
    B: BrokerSite,
>() {
    let chain = Chain::<S, B>::fresh().await;
    let publisher = chain.publisher().await;
    publisher.halt(&Fact::json("one"), Halt::After);
    chain.append("one").await;
    // The first one has room for one event, so that it does not claim it again itself.
    let first = chain.relay(publisher.clone()).batch(1);
    let second = chain.relay(publisher.clone());
    let meanwhile = async {
        publisher.until_halted().await;
        chain.subject.pass_time().await;
        assert_eq!(sweep::<S, _>(&second).await.published, 1);
        publisher.go_on();
    };
    let both = async { tokio::join!(first.sweep(), meanwhile) };
    let (swept, ()) = in_time("both relays end", both).await;
    let swept = swept.expect("swept");
    assert_eq!((swept.fenced, swept.published), (1, 0));
    let deliveries = if B::KEEPS_REPETITIONS { 3 } else { 2 };
    chain.receiver.committed(deliveries).await;
    chain.end(&["one"]).await;
}
