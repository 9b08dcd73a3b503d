//! Tests of the attribute at compile time.
