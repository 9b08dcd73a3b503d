//! Who is kept out.

use axum::Router;
use http::request::Parts;
use http::{HeaderValue, Method};
use idem_console::{Console, Principal, Refused};

use crate::client::{Answer, Client, HOST, console, form, hidden, record};
use crate::story::{append, audited, count, key, sweep, unknown};
use crate::subject::Subject;

const PAGES: [&str; 6] = [
    "/",
    "/search?q=order-1",
    "/unknown",
    "/outbox",
    "/health",
    "/changes",
];

pub(crate) async fn each_right_is_one_of_its_own<S: Subject>() {
    let subject = S::fresh().await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    let event = append(&subject, "cases", "a").await;
    sweep(&subject, "cases", "no").await;
    let router = console(&subject).router();
    let page = record("customer-42", "order-1");
    let event = format!("/event?id={}", event.as_str());
    for (who, may_change, may_reveal) in [
        ("ada", false, false),
        ("ada change", true, false),
        ("ada reveal", false, true),
        ("ada change reveal", true, true),
    ] {
        let client = Client::new(router.clone(), who);
        for path in PAGES.iter().chain([&&*page, &&*event]) {
            client.get(path).await.page();
        }
        let shown = client.get(&page).await.page();
        assert_eq!(
            shown.contains("action=\"/record/resolve\""),
            may_change,
            "{who}"
        );
        assert_eq!(shown.contains("reveal=yes"), may_reveal, "{who}");
        if !may_change {
            // Whatever form he makes up.
            for path in [
                "/record/resolve",
                "/record/release",
                "/outbox/requeue",
                "/outbox/resume",
            ] {
                let answer = client.post(path, "reason=r&topic=cases".into()).await;
                answer.refused(403, "change nothing");
            }
        }
    }
    let nobody = router.clone();
    for (who, status) in [("", 403), ("\t", 403)] {
        let client = Client::new(nobody.clone(), who);
        client
            .get("/")
            .await
            .refused(status, "may not see this console");
    }
    assert_eq!(
        (count(&subject, 4).await, audited(&subject, "1 = 1").await),
        (1, 0)
    );
}

pub(crate) async fn a_form_of_elsewhere_changes_nothing<S: Subject>() {
    let subject = S::fresh().await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    let router = console(&subject).router();
    let ada = Client::new(router.clone(), "ada change s1");
    let page = record("customer-42", "order-1");
    let shown = ada.get(&page).await.page();
    let mut fields = hidden(form(&shown, "/record/release").expect("a form"));
    fields.push(("reason".into(), "r".into()));
    let encode = |fields: &[(String, String)]| {
        form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish()
    };
    let good = encode(&fields);
    let without: Vec<_> = fields
        .iter()
        .filter(|(name, _)| name != "token")
        .cloned()
        .collect();
    let forged = |answer: Answer| answer.refused(403, "not one of this console");
    // Another site's page, which has no token, or one of its own making.
    forged(ada.post("/record/release", encode(&without)).await);
    let zeros = format!("{}&token={}", encode(&without), "0".repeat(64));
    forged(ada.post("/record/release", zeros).await);
    // The right token, from elsewhere.
    for (name, value) in [
        ("origin", "https://evil.example"),
        ("origin", "null"),
        ("origin", "https://ops.example.evil.example"),
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-site", "same-site"),
        ("x-none", "neither of them"),
    ] {
        let request = ada
            .request(Method::POST, "/record/release")
            .header("content-type", "application/x-www-form-urlencoded")
            .header(name, value);
        forged(ada.send(request, good.clone()).await);
    }
    // A browser that never opened the page, another principal, and the same one in another session.
    for who in [
        "ada change s1",
        "eve change s1",
        "ada change s2",
        "ada change",
    ] {
        let other = Client::new(router.clone(), who);
        forged(other.post("/record/release", good.clone()).await);
        other.get("/").await.page();
        forged(other.post("/record/release", good.clone()).await);
    }
    // No form, and no POST.
    let request = ada
        .request(Method::POST, "/record/release")
        .header("content-type", "text/plain")
        .header("origin", format!("https://{HOST}"));
    ada.send(request, good.clone())
        .await
        .refused(415, "sent as a form");
    ada.get(&format!("/record/release?{good}"))
        .await
        .refused(404, "no such page");
    assert_eq!(
        (count(&subject, 4).await, audited(&subject, "1 = 1").await),
        (1, 0)
    );
    // And the form itself is good.
    ada.post("/record/release", good).await.sent_to();
    assert_eq!(
        (count(&subject, 5).await, audited(&subject, "1 = 1").await),
        (1, 1)
    );
}

pub(crate) async fn every_answer_has_the_headers_that_guard_it<S: Subject>() {
    let subject = S::fresh().await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    let client = Client::of(&subject);
    let page = record("customer-42", "order-1");
    let fields = [("outcome", "never-happened"), ("reason", "r")];
    let mut answers = vec![client.fill(&page, "/record/resolve", &fields).await];
    for path in PAGES
        .iter()
        .chain([&"/nowhere", &"/style.css", &&*page, &"/record?key="])
    {
        answers.push(client.get(path).await);
    }
    answers.push(client.post("/record/resolve", String::new()).await);
    answers.push(client.post("/", String::new()).await);
    answers.push(Client::new(console(&subject).router(), "").get("/").await);
    for answer in answers {
        for (name, value) in [
            (
                "content-security-policy",
                "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            ),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "same-origin"),
            ("cache-control", "no-store"),
            ("x-frame-options", "DENY"),
        ] {
            assert_eq!(answer.headers[name], value, "{answer:?}");
        }
    }
    let fresh = Client::of(&subject).get("/").await;
    let cookie = fresh.headers["set-cookie"].to_str().expect("text");
    assert!(
        cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"),
        "{cookie}"
    );
    let secure = Client::new(console(&subject).secure_cookie().router(), "ada")
        .get("/")
        .await;
    let cookie = secure.headers["set-cookie"].to_str().expect("text");
    assert!(cookie.ends_with("; SameSite=Strict; Secure"), "{cookie}");
}

pub(crate) async fn nothing_is_read_before_the_authoriser_has_answered<S: Subject>() {
    // The database is down: whoever is refused does not even find that out.
    let challenge = |_: &Parts| -> Result<Principal, Refused> {
        Err(Refused::unauthenticated().challenge(HeaderValue::from_static("Basic realm=\"idem\"")))
    };
    let client = Client::new(
        Console::new(S::dead_pool(), challenge).router(),
        "ada change reveal",
    );
    for path in PAGES {
        let answer = client
            .get(path)
            .await
            .refused(401, "Sign in to see this console");
        assert_eq!(answer.headers["www-authenticate"], "Basic realm=\"idem\"");
        assert!(!answer.headers.contains_key("set-cookie"), "{answer:?}");
    }
    client
        .post("/record/resolve", String::new())
        .await
        .refused(401, "Sign in");
    let elsewhere = |_: &Parts| -> Result<Principal, Refused> {
        Err(Refused::sign_in_at(HeaderValue::from_static("/login")))
    };
    let client = Client::new(Console::new(S::dead_pool(), elsewhere).router(), "");
    assert_eq!(client.get("/").await.sent_to(), "/login");
    let unknown = |_: &Parts| -> Result<Principal, Refused> { Err(Refused::unavailable()) };
    let client = Client::new(Console::new(S::dead_pool(), unknown).router(), "");
    client.get("/").await.refused(503, "cannot be found out");
}

pub(crate) async fn a_nested_console_stays_below_its_path<S: Subject>() {
    let subject = S::fresh().await;
    unknown(&subject, &key("customer-42", "order-1")).await;
    let router = Router::new().nest("/ops/idem", console(&subject).router());
    let client = Client::new(router, "ada change");
    let overview = client.get("/ops/idem").await;
    let cookie = overview.headers["set-cookie"].to_str().expect("text");
    assert!(cookie.contains("; Path=/ops/idem;"), "{cookie}");
    let page = format!("/ops/idem{}", record("customer-42", "order-1"));
    for page in [overview.page(), client.get(&page).await.page()] {
        for part in page.split("href=\"").chain(page.split("action=\"")).skip(1) {
            let is_below =
                part.starts_with("/ops/idem") || part.starts_with('#') || part.starts_with('<');
            assert!(is_below, "{part}");
        }
        let links = page.split("href=\"").skip(1);
        let links = links.filter_map(|part| part.split('"').next());
        for link in links.filter(|link| link.starts_with('/')) {
            let link = link.replace("&amp;", "&");
            assert_eq!(client.get(&link).await.status, 200, "{link}");
        }
    }
    let fields = [("outcome", "never-happened"), ("reason", "r")];
    let done = client
        .fill(&page, "/ops/idem/record/resolve", &fields)
        .await;
    assert_eq!(done.sent_to(), format!("{page}&done=resolved"));
    let proxied = console(&subject).base_path("/elsewhere").expect("a path");
    let proxied = proxied.origin("https://public.example").expect("an origin");
    let client = Client::new(proxied.router(), "ada change");
    let page = client.get("/unknown").await.page();
    assert!(page.contains("href=\"/elsewhere/search\""), "{page}");
    for path in ["", "/", "elsewhere", "/a/", "//evil.example", "/a\"b"] {
        assert!(console(&subject).base_path(path).is_err(), "{path}");
    }
    for origin in [
        "",
        "ops.example",
        "https://ops.example/",
        "ftp://ops.example",
        "null",
    ] {
        assert!(console(&subject).origin(origin).is_err(), "{origin}");
    }
}
