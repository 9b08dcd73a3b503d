//! The page for authors of clients and gateways says what the trials show.

use std::{env, fs};

use idem_tests_clients::{Town, install};

use crate::{gateways, trials};

const BEGIN: &str = " -->\n";
const END: &str = "<!-- end -->";

/// Compares the part of the page under this name, or replaces it with `IDEM_PAGES=overwrite`.
fn hold(name: &str, shown: &str) {
    let path = install::root().join("docs/clients.md");
    let page = fs::read_to_string(&path).expect("the page");
    let begin = format!("<!-- {name}{BEGIN}");
    let (before, rest) = page.split_once(&begin).expect("the part's begin");
    let (part, after) = rest.split_once(END).expect("the part's end");
    if env::var_os("IDEM_PAGES").is_some_and(|value| value == "overwrite") {
        let page = format!("{before}{begin}{shown}{END}{after}");
        fs::write(path, page).expect("written");
    } else {
        assert_eq!(part, shown, "{name}: IDEM_PAGES=overwrite blesses it");
    }
}

// One test, since both parts are in one file.
#[tokio::test(flavor = "multi_thread")]
async fn the_page_says_what_clients_and_gateways_do() {
    let town = Town::open().await;
    hold("clients", &trials::table(&town).await);
    hold("gateways", &gateways::table().await);
}
