//! What stands beside the key: the namespace, and the business's own constraint.

use idem_messaging::inbox::{DeadLetterReason, Delivery, Verdict};

use crate::service::{Service, TABLES};
use crate::source::{message, until_ack, verdict};

pub(crate) async fn a_second_consumer_in_one_namespace_is_told_so<D: Service>() {
    let db = D::fresh(TABLES).await;
    let event = message("8e03978e", 17, None);
    until_ack(&D::notifier(&db), &event).await;
    let verdict = verdict(&D::intruder(&db), &Delivery::new(event)).await;
    assert_eq!(
        verdict,
        Verdict::DeadLetter {
            reason: DeadLetterReason::SharedNamespace,
            detail: "operation `notify` has handled this message in the namespace of `intrude`; nothing was written; \
                     give each consumer a namespace of its own"
                .to_owned(),
        }
    );
    assert_eq!(D::counts(&db).await, (1, 0, 1));
}

pub(crate) async fn two_ids_for_one_fact_have_one_effect_by_a_unique_index<D: Service>() {
    let db = D::fresh(TABLES).await;
    for id in ["8e03978e", "another", "8e03978e"] {
        until_ack(&D::teller(&db), &message(id, 17, None)).await;
    }
    until_ack(&D::teller(&db), &message("of another case", 18, None)).await;
    // Two facts, three ids.
    assert_eq!(D::counts(&db).await, (0, 2, 3));
}
