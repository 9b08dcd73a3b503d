//! With the fast check off the primary key alone arbitrates, and the laws hold all the same.
//!
//! A binary of its own, because the switch is the process's.

mod leases;
mod rivals;
mod snapshot;
mod transactions;

use idem_tests::postgres::Shop;

/// A shop of a process without the fast check.
async fn shop(connections: u32) -> Shop {
    idem_runtime::fast_check::set(false);
    Shop::open(connections).await
}
