//! The fixed keys, fingerprints and canonical forms of idem-runtime, under these features.

#[path = "../../../idem-runtime/tests/vectors/mod.rs"]
mod vectors;
