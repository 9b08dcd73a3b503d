//! With the fast check off, only the primary key decides, and all laws hold.
//!
//! These tests have their own binary, because the switch applies to the whole process.

mod competitors;
mod leases;
mod snapshot;
mod transactions;

use idem_tests::postgres::Shop;

/// Opens a shop with the fast check disabled.
async fn shop(connections: u32) -> Shop {
    idem_runtime::fast_check::set(false);
    Shop::open(connections).await
}
