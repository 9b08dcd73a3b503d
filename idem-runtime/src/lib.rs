//! idem.
