//! Search.

use crate::client::Client;
use crate::story::{completed, key, unknown};
use crate::subject::Subject;

/// The first 12 hexadecimal digits of the SHA-256 of `k-3-17`.
fn hash(key: &str) -> String {
    use sha2::{Digest as _, Sha256};
    use std::fmt::Write as _;
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().take(6).fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

pub(crate) async fn a_key_is_found_in_every_scope_and_by_its_hash<S: Subject>() {
    let subject = S::fresh().await;
    for scope in ["customer-1", "customer-2"] {
        completed(&subject, &key(scope, "order-1")).await;
    }
    unknown(&subject, &key("customer-3", "order-1")).await;
    unknown(&subject, &key("customer-3", "Order-1")).await;
    let client = Client::of(&subject);
    let hashed = format!("/search?q={}&by=hash", hash("order-1"));
    for path in ["/search?q=order-1&by=key", &hashed] {
        let page = client.get(path).await.page();
        assert!(page.contains("3 records"), "{page}");
        for scope in ["customer-1", "customer-2", "customer-3"] {
            assert!(page.contains(scope), "{page}");
        }
        assert!(!page.contains("Order-1"), "{page}");
    }
    for (path, found) in [
        ("/search?q=order-1&scope=customer-2", "1 record"),
        (
            "/search?q=order-1&scope=customer-2&namespace=payments",
            "1 record",
        ),
        ("/search?q=order-1&namespace=payments", "3 records"),
        ("/search?q=order-1&namespace=mails", "No record"),
        ("/search?q=order-1&global=yes", "No record"),
        ("/search?q=order-9", "No record"),
        (&format!("{hashed}&scope=customer-3"), "1 record"),
        (&format!("{hashed}&namespace=mails"), "No record"),
    ] {
        let page = client.get(path).await.page();
        assert!(page.contains(found), "{path}: {page}");
    }
    client
        .get("/search?q=xyz&by=hash")
        .await
        .refused(400, "12 hexadecimal digits");
    client
        .get("/search?q=xyz&from=there")
        .await
        .refused(400, "is no number");
}

pub(crate) async fn among_many_scopes_a_key_is_found_by_going_further<S: Subject>() {
    let subject = S::fresh().await;
    subject.fill(3, 9_000).await;
    let client = Client::of(&subject);
    // The oldest record, and the one whose retention ends first.
    let hashed = format!("/search?q={}&by=hash", hash("k-3-0"));
    for path in ["/search?q=k-3-0&by=key", &hashed] {
        let mut page = client.get(path).await.page();
        let mut further = 0;
        while !page.contains("1 record") {
            let link = page.split("class=\"button\" href=\"").nth(1);
            let link = link.unwrap_or_else(|| panic!("nothing further: {page}"));
            let link = link
                .split('"')
                .next()
                .expect("its end")
                .replace("&amp;", "&");
            page = client.get(&link).await.page();
            further += 1;
        }
        // 27,000 records, of which each search examines 10,000.
        assert_eq!(further, 2, "{page}");
    }
    let page = client.get("/search?q=k-3-0&scope=tenant-0").await.page();
    assert!(
        page.contains("1 record") && !page.contains("Search further"),
        "{page}"
    );
}
