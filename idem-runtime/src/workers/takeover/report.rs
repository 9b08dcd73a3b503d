//! What a sweep reports.

/// The result of one sweep of a [`TakeoverWorker`](crate::TakeoverWorker).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct TakeoverSweep {
    /// The lapsed leases of the handled operations that the sweep found.
    pub found: u64,
    /// Those whose pause is not over yet.
    pub waiting: u64,
    /// Those for which it began a run. A run first claims.
    pub begun: u64,
    /// Runs that have ended with a result since the sweep before.
    pub completed: u64,
    /// Runs that have ended with an error or a panic since the sweep before.
    pub failed: u64,
    /// Runs that have ended since the sweep before without running the body: another attempt was quicker, or the
    /// process runs as many as it may ([`set_max_concurrent`](crate::lease::set_max_concurrent)).
    pub overtaken: u64,
    /// Those whose attempts are used up, and whose outcome the sweep made unknown.
    pub unknown: u64,
    /// Those that it left for a client, by reason.
    pub left: LeftLeases,
}

/// Lapsed leases that a worker cannot take over, by reason. They wait for their clients, whose calls bring request and
/// key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct LeftLeases {
    /// The record keeps no request: it was claimed by a build that compared nothing.
    pub no_request: u64,
    /// The request was over the limit when it was to be kept, so the record has only its hash.
    pub too_large: u64,
    /// The record has a hash in place of the key, from which no body could derive anything.
    pub hashed_key: u64,
    /// The operation's codec is not installed, or does not open the request: its key is unknown here, or the bytes were
    /// changed.
    pub codec: u64,
    /// The record is in a form that this build does not know.
    pub unknown_form: u64,
    /// The request is not the one that the fingerprint was made of.
    pub mismatch: u64,
    /// The request does not decode as the body's type.
    pub undecodable: u64,
}

impl LeftLeases {
    /// Returns the number of all of them.
    pub fn total(&self) -> u64 {
        let Self {
            no_request,
            too_large,
            hashed_key,
            codec,
            unknown_form,
            mismatch,
            undecodable,
        } = self;
        no_request + too_large + hashed_key + codec + unknown_form + mismatch + undecodable
    }

    pub(super) fn add(&mut self, reason: Left) {
        *match reason {
            Left::NoRequest => &mut self.no_request,
            Left::TooLarge => &mut self.too_large,
            Left::HashedKey => &mut self.hashed_key,
            Left::Codec => &mut self.codec,
            Left::UnknownForm => &mut self.unknown_form,
            Left::Mismatch => &mut self.mismatch,
            Left::Undecodable => &mut self.undecodable,
        } += 1;
    }
}

/// Why a lease is left for its client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    NoRequest,
    TooLarge,
    HashedKey,
    Codec,
    UnknownForm,
    Mismatch,
    Undecodable,
}

impl Left {
    /// Returns whether the reason may go although the record stays as it is.
    pub(super) fn may_pass(self) -> bool {
        self == Self::Codec
    }

    /// Returns the value of the metric's label, and of the event's field.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::NoRequest => "no_request",
            Self::TooLarge => "too_large",
            Self::HashedKey => "hashed_key",
            Self::Codec => "codec",
            Self::UnknownForm => "unknown_form",
            Self::Mismatch => "mismatch",
            Self::Undecodable => "undecodable",
        }
    }
}
