//! Stretches of a program: named for callgrind, with their allocations counted.

use std::alloc::System;

use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// A function that only calls its argument. Everything inside it is the stretch. [`stretches!`](crate::stretches) makes it.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    name: &'static str,
    run: fn(&mut dyn FnMut()),
}

impl Stretch {
    /// Creates the stretch of a function that has this name.
    pub const fn new(name: &'static str, run: fn(&mut dyn FnMut())) -> Self {
        Self { name, run }
    }
}

/// Defines a constant [`Stretch`] and its function for each `CONSTANT = function`. Callgrind finds the function by its path.
#[macro_export]
macro_rules! stretches {
    ($($stretch:ident = $function:ident),* $(,)?) => {$(
        pub(crate) const $stretch: $crate::Stretch =
            $crate::Stretch::new(stringify!($function), $function);

        #[inline(never)]
        fn $function(work: &mut dyn FnMut()) {
            // The name prevents the linker from merging several of these functions. The statement
            // after the call prevents a tail call.
            ::std::hint::black_box(stringify!($function));
            work();
            ::std::hint::black_box(());
        }
    )*};
}

/// The allocations by stretch, in the order of their first appearance.
#[derive(Debug, Default)]
pub struct Ledger(Vec<(&'static str, usize, usize)>);

impl Ledger {
    /// Does a piece of work inside a stretch.
    pub fn enter(&mut self, stretch: Stretch, work: &mut dyn FnMut()) {
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

    /// Prints a line for each stretch: its name, the number of allocations and their bytes.
    pub fn print(&self) {
        for (name, count, bytes) in &self.0 {
            println!("{name} {count} {bytes}");
        }
    }
}
