//! Client processes call handlers while a nemesis disturbs them. A checker then reads the final
//! state.
//!
//! - [`calls`]: the requests, chosen by the seed. - [`handlers`]: the handlers, and [`planted`]: the
//!   faults in them on purpose; [`answer`] chooses between the two. - [`notices`]: leased handlers,
//!   [`notifiers`]: their callers, and [`outlive`]: one whose lease outlives a full pool.
//! - [`statements`]: the SQL of the handlers.
//! - [`client`]: one process of callers, each with its own log. - [`history`]: the logs.
//! - [`nemesis`]: the faults. - [`link`]: the faults of the network.
//! - [`crew`]: the processes. - [`engine`]: one file for each database. - [`arena`]: a whole run.
//! - [`laws`]: the laws that must hold afterwards. - [`report`]: the output.
//!
//! The seed determines what every caller asks for, in which order, and which fault follows after
//! how many answers. The machine's timing determines which call a fault disturbs.

pub mod answer;
pub mod arena;
pub mod calls;
pub mod client;
pub mod crew;
pub mod engine;
pub mod handlers;
pub mod history;
pub mod laws;
pub mod link;
pub mod nemesis;
pub mod notices;
pub mod notifiers;
pub mod outlive;
pub mod planted;
pub mod report;
pub mod statements;

/// An error of the run itself.
pub type Fault = Box<dyn std::error::Error + Send + Sync>;

/// Returns a repeatable choice: the same for the same seed and place (`SplitMix64`, Steele et al.
/// 2014).
pub fn choice(seed: u64, index: u64) -> u64 {
    let mut z = seed.wrapping_add(index.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
