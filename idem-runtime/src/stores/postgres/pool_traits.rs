//! Reads the traits of a pool's connections from its options.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::{Arc, Weak};

use sqlx::ConnectOptions as _;
use sqlx::postgres::PgConnectOptions;

use super::super::bounded::Bounded;
use super::claim::PgPoolTraits;
use super::fused;

/// Returns the traits that these options give. Reads them once, because only the options' form as a URL shows
/// the capacity of the statement cache.
pub(super) fn of(options: &Arc<PgConnectOptions>) -> PgPoolTraits {
    static KNOWN: Bounded<KnownOptions, PgPoolTraits> = Bounded::new();
    // As long as a weak pointer to the options is kept, no other options have their address.
    let ours = Arc::as_ptr(options);
    KNOWN
        .find(|known| known.0.as_ptr() == ours)
        .unwrap_or_else(|| {
            let pool_traits = read(options);
            KNOWN.insert(KnownOptions(Arc::downgrade(options)), pool_traits.clone());
            pool_traits
        })
}

/// The options of a pool, compared by identity and not by value.
struct KnownOptions(Weak<PgConnectOptions>);

impl PartialEq for KnownOptions {
    fn eq(&self, other: &Self) -> bool {
        self.0.ptr_eq(&other.0)
    }
}

fn read(options: &PgConnectOptions) -> PgPoolTraits {
    // Replaces host and user: not every one of them can be part of a URL (`::1`; sqlx panics).
    let url = options.clone().host("any").username("any").to_url_lossy();
    let keeps_none = url
        .query_pairs()
        .any(|(name, value)| name == "statement-cache-capacity" && value == "0");
    let mut database = DefaultHasher::new();
    (options.get_host(), options.get_port(), options.get_socket()).hash(&mut database);
    (options.get_database(), options.get_options()).hash(&mut database);
    PgPoolTraits {
        keeps_statements: Some(!keeps_none),
        fuses: !keeps_none && fused::is_on(options.get_options()),
        database: database.finish(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_fused_unless_a_pool_says_not_to_or_keeps_no_statements() {
        let fuses = |options: PgConnectOptions| of(&Arc::new(options)).fuses;
        let new = PgConnectOptions::new_without_pgpass;
        assert!(fuses(new().options([("idem.fused", "on")])));
        assert!(!fuses(new().options([("idem.fused", "off")])));
        assert!(!fuses(
            new().options([("idem.fused", "on"), ("idem.fused", "off")])
        ));
        assert!(!fuses(new().options([("idem.fused", "maybe")])));
        assert!(fuses(new().options([("search_path", "app")])));
        assert!(!fuses(new().statement_cache_capacity(0)));
    }

    #[test]
    fn what_a_pool_says_is_kept_as_long_as_its_options() {
        let first = Arc::new(PgConnectOptions::new_without_pgpass());
        assert!(of(&first).fuses);
        let second = Arc::new(PgConnectOptions::clone(&first).statement_cache_capacity(0));
        assert!(!of(&second).fuses);
        assert!(of(&first).fuses);
    }
}
