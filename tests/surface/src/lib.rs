//! Nothing but tests: `tests/surface.rs`.
