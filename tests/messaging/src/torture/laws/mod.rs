//! The laws that must hold after a run, whatever happened to processes, database and broker; each is a function.

mod broker;
mod consumers;
mod outbox;
#[cfg(test)]
mod tests;

use idem_tests::torture::laws::Violation;

use super::evidence::Evidence;

type Law = fn(&Evidence) -> Vec<String>;

/// Names functions as laws.
macro_rules! laws {
    ($($room:ident::$law:ident,)+) => {
        [$((stringify!($law), $room::$law as Law),)+]
    };
}

/// Every law.
const LAWS: [(&str, Law); 17] = laws![
    outbox::every_call_is_answered,
    outbox::no_answer_is_forbidden,
    outbox::a_key_has_one_effect,
    outbox::the_numbers_of_a_partition_have_no_gaps,
    outbox::an_effect_has_one_event_row,
    outbox::an_event_row_has_its_effect,
    outbox::every_event_has_left,
    outbox::no_event_is_dead,
    broker::an_event_is_published,
    broker::what_is_published_was_appended,
    broker::a_partition_is_published_in_order,
    broker::nothing_waits_at_the_broker,
    broker::no_message_is_dead,
    consumers::a_consumer_has_the_effect_of_each_event,
    consumers::a_consumer_has_the_effect_of_an_event_once,
    consumers::a_consumer_has_no_effect_without_its_event,
    consumers::the_projection_follows_the_order_of_its_partition,
];

/// Returns every breach of every law; empty if all hold.
pub fn violations(evidence: &Evidence) -> Vec<Violation> {
    LAWS.into_iter()
        .flat_map(|(law, holds)| {
            let broken = holds(evidence).into_iter();
            broken.map(move |detail| Violation { law, detail })
        })
        .collect()
}
