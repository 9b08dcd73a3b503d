//! The stretches of a call: named for callgrind, with their allocations counted.

use std::alloc::System;
use std::future::poll_fn;
use std::hint::black_box;
use std::pin::Pin;
use std::task::Poll;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A function that only calls its argument. Everything inside it is the stretch.
#[derive(Clone, Copy)]
pub(crate) struct Stretch {
    name: &'static str,
    run: fn(&mut dyn FnMut()),
}

macro_rules! stretches {
    ($($stretch:ident = $function:ident),* $(,)?) => {$(
        pub(crate) const $stretch: Stretch = Stretch {
            name: stringify!($function),
            run: $function,
        };

        #[inline(never)]
        fn $function(work: &mut dyn FnMut()) {
            // The name prevents the linker from merging several of these functions. The statement
            // after the call prevents a tail call.
            black_box(stringify!($function));
            work();
            black_box(());
        }
    )*};
}

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

/// The allocations by stretch, in the order of their first appearance.
#[derive(Default)]
pub(crate) struct Ledger(Vec<(&'static str, usize, usize)>);

impl Ledger {
    /// Does a piece of work inside a stretch.
    pub(crate) fn enter(&mut self, stretch: Stretch, work: &mut dyn FnMut()) {
        let region = Region::new(ALLOCATOR);
        (stretch.run)(work);
        let change = region.change();
        // A reallocation counts as one allocation more.
        let count = change.allocations + change.reallocations;
        let bytes = change.bytes_allocated;
        match self.0.iter_mut().find(|(name, ..)| *name == stretch.name) {
            Some(line) => *line = (line.0, line.1 + count, line.2 + bytes),
            None => self.0.push((stretch.name, count, bytes)),
        }
    }

    pub(crate) fn print(&self) {
        for (name, count, bytes) in &self.0 {
            println!("{name} {count} {bytes}");
        }
    }
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
