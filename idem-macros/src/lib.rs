//! The attribute of idem.
