//! Client processes call handlers while a nemesis disturbs them; a checker reads what is left.
//!
//! - [`calls`]: what is asked for, chosen by the seed. - [`handlers`]: who answers it, and
//!   [`planted`]: with which faults on purpose. - [`notices`]: leased ones, and
//!   [`outlive`]: one that outlives a full pool.
//! - [`statements`]: what a handler writes.
//! - [`client`]: one process of callers, each with its own log. - [`history`]: those logs.
//! - [`nemesis`]: the faults. - [`link`]: those that befall the wire.
//! - [`engine`]: one file a database. - [`arena`]: a whole run.
//! - [`laws`]: what must hold afterwards. - [`report`]: what is told of it.
//!
//! Choices follow the seed: what every caller asks for and in which order, which fault comes after
//! how many answers. What a fault meets is up to the machine.

pub mod arena;
pub mod calls;
pub mod client;
pub mod engine;
pub mod handlers;
pub mod history;
pub mod laws;
pub mod link;
pub mod nemesis;
pub mod notices;
pub mod outlive;
pub mod planted;
pub mod report;
pub mod statements;

/// What goes wrong with the run itself.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// A repeatable choice: the same for the same seed and place (`SplitMix64`, Steele et al. 2014).
pub fn choice(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
