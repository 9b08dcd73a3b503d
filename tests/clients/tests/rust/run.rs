//! Many calls under random faults. `IDEM_CLIENT_CALLS` says how many, `IDEM_CLIENT_SEED` which.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::join_all;
use idem_tests_clients::Town;
use idem_tests_clients::cases::{plans, run};
use reqwest_middleware::ClientWithMiddleware;

use crate::customer::{Hurried, client, client_of_http2, json, keys, order, policy};

/// Makes one call: in the open, behind TLS, or over HTTP/2. Returns what is wrong with it.
async fn call(
    town: &Town,
    [client, client_of_http2]: &[ClientWithMiddleware; 2],
    index: usize,
    plan: &str,
) -> Option<String> {
    let item = format!("run-{index}");
    let (client, door) = match index % 3 {
        0 => (client, &town.url),
        1 => (client, &town.tls.url),
        _ => (client_of_http2, &town.url),
    };
    let answer = match order(client, door, &item, plan).send().await {
        Ok(answer) => answer,
        Err(error) => return Some(format!("{item} {plan}: {error:?}")),
    };
    let status = answer.status().as_u16();
    let body = json(answer).await;
    let (keys, effects) = (keys(town, &item), town.effects(&item).await);
    let holds = status == 201 && body["item"] == *item && keys.len() == 1 && effects == 1;
    (!holds).then(|| format!("{item} {plan}: {status} {body} {keys:?} {effects} effects"))
}

#[tokio::test(flavor = "multi_thread")]
async fn no_call_of_many_has_two_effects_and_none_has_none() {
    let (calls, seed) = run();
    let town = Town::open().await;
    town.tls.cut_every(5);
    let clients = [
        client(&town, policy(&Hurried::default())),
        client_of_http2(&town),
    ];
    let rest: Vec<_> = plans(seed, calls).into_iter().enumerate().collect();
    let (rest, violations) = (Arc::new(Mutex::new(rest)), Mutex::new(Vec::new()));
    let caller = async || {
        loop {
            let next = rest.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some((index, plan)) = next else {
                return;
            };
            if let Some(violation) = call(&town, &clients, index, &plan).await {
                let mut violations = violations.lock().unwrap_or_else(PoisonError::into_inner);
                violations.push(violation);
            }
        }
    };
    join_all((0..8).map(|_| caller())).await;
    let violations = violations
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    println!(
        "seed {seed}: {calls} calls, {} violations",
        violations.len()
    );
    assert!(violations.is_empty(), "seed {seed}: {violations:#?}");
    assert_eq!(town.doubled().await, 0, "seed {seed}");
}
