//! Fixed keys, fingerprints and canonical forms: what one release has made, all others make.

mod vectors;
