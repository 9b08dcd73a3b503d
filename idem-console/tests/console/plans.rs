//! What a page reads of a large table: ranges of its indexes.

use crate::client::{Client, authorise, record};
use crate::story::{append, key, sweep, unknown};
use crate::subject::Subject;
use idem_console::Console;
use std::time::Duration;

pub(crate) async fn no_page_reads_the_whole_table<S: Subject>() {
    let subject = S::fresh().await;
    // Few enough for a test, and too many for the bound if a page read them all.
    subject.fill(24, 12_500).await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    append(&subject, "cases", "a").await;
    sweep(&subject, "cases", "no").await;
    let pool = subject.counting().await;
    let console = Console::new(pool.clone(), authorise).deadline(Duration::from_mins(2));
    let client = Client::new(console.router(), "ada");
    for path in [
        "/",
        "/unknown",
        "/outbox",
        "/health",
        "/changes",
        "/search?q=k-3-17",
        "/search?q=k-3-17&scope=tenant-17",
        "/search?q=0123456789ab&by=hash",
        &record("tenant-17", "k-3-17"),
    ] {
        let before = subject.read_so_far(&pool).await;
        client.get(path).await.page();
        let read = subject.read_so_far(&pool).await - before;
        assert!(read <= S::BOUND, "{path}: {read}");
    }
}
