//! How many messages are in work at once.

use std::num::NonZeroU16;

use idem_tests_messaging::receiver::{Act, Receiver};
use sqlx::Sqlite;

use super::site::{Running, Site};

#[tokio::test(flavor = "multi_thread")]
async fn no_more_messages_are_in_work_at_once_than_the_limit() {
    let (site, receiver) = (Site::fresh(), Receiver::<Sqlite>::fresh().await);
    let two = NonZeroU16::new(2).expect("not zero");
    let source = site.source().with_concurrency(two);
    let running = Running::start(source, receiver.consumer(|_| Act::Wait));
    for number in 0..6 {
        site.publish(&number.to_string()).await;
    }
    for number in 2..=6 {
        receiver.called(number).await;
        receiver.open();
    }
    receiver.open();
    receiver.committed(6).await;
    running.stop().await;
    assert_eq!(receiver.most_at_once(), 2);
}
