//! Transfers between accounts under a nemesis: the client, its history, and the checker.
//!
//! Choices follow a seed. What a key asks for is a function of the key, so that any client may call
//! it; what happened is read afterwards from every client's own log and from the tables.

pub mod checker;
pub mod client;
pub mod history;

/// How many accounts there are, and what each holds at the start.
pub const ACCOUNTS: u64 = 16;
/// What each account holds at the start.
pub const OPENING: i64 = 1_000;

/// The business tables. Nothing in them keeps two transfers of one key apart.
pub const TABLES: &str = "\
    CREATE TABLE account (id bigint PRIMARY KEY, balance bigint NOT NULL); \
    INSERT INTO account SELECT n, 1000 FROM generate_series(0, 15) AS n; \
    CREATE TABLE transfer (id bigserial PRIMARY KEY, key text NOT NULL, amount bigint NOT NULL)";

/// A repeatable choice: the same for the same seed and place (`SplitMix64`, Steele et al. 2014).
pub fn choice(seed: u64, place: u64) -> u64 {
    let mut z = seed.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}
