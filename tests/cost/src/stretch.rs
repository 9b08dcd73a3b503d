//! The stretches of a call: named for callgrind, with their allocations counted.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use idem_tests_counting::{Ledger, Stretch, stretches};

stretches! {
    WARMING = warming,
    CANONICAL_FORM = canonical_form,
    HASH = hash_of_it,
    TO_FIRST_BYTE = call_to_first_byte,
    BETWEEN = first_byte_to_last,
    FROM_LAST_BYTE = last_byte_to_return,
    REPLAY = whole_replay,
    BY_HAND = whole_call_by_hand,
}

/// Polls a call, with each poll inside a stretch that `choose` selects. Returns the number of
/// polls.
///
/// A poll ends when the call has to wait for the database. The first one therefore ends once the
/// first message is sent, and the last one begins once the last answer can be read.
pub(crate) async fn follow<F: Future>(
    mut call: Pin<Box<F>>,
    ledger: &mut Ledger,
    stretch: impl Fn(u32) -> Stretch,
) -> (F::Output, u32) {
    let mut polls = 0;
    let output = poll_fn(|context| {
        polls += 1;
        let mut poll = Poll::Pending;
        ledger.enter(stretch(polls), &mut || {
            poll = call.as_mut().poll(context);
        });
        poll
    })
    .await;
    (output, polls)
}
