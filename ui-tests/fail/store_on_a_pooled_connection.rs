use idem_runtime::store::RawStore;
use idem_ui_tests::*;
use sqlx::pool::PoolConnection;

fn bind(store: &RawStore, conn: &mut PoolConnection<Postgres>) {
    let _ = store.in_connection(conn);
}

fn main() {}
