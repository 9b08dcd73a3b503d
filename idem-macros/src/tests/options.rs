//! Faults of the arguments: one message each, and all of them together.

use super::{HANDLER, reports};

#[track_caller]
fn says(arguments: &str, code: &str, message: &str) {
    let errors = reports(arguments, HANDLER, &[code]);
    assert!(errors[0].contains(message), "{}", errors[0]);
}

#[test]
fn a_handler_without_faults_reports_none() {
    for arguments in [
        "namespace = \"payments\"",
        "namespace = \"payments\",",
        "namespace = \"p-1_2\", retention = \"1d12h\", operation = \"Create a payment\"",
        "namespace = \"p\", on_conflict = \"wait\", wait = \"60s\", failures = \"record\"",
        "namespace = \"p\", on_conflict = \"reject\", failures = \"retry\", expiry = \"replay\"",
        "namespace = \"p\", skip(cmd), scope = cmd.tenant::<A, B>(), record_request",
        "namespace = \"p\", fingerprint = off, record_request = false",
        "namespace = \"p\", fingerprint = (cmd.a, cmd.b), table = \"app.idempotency\"",
        "namespace = \"p\", key = key, key_required = true, crate = crate::renamed",
        "namespace = \"p\", key = key.child(\"a\"), operation = \"pay\", signature = \"keep\", expiry = \"strict\"",
        "namespace = \"p\", key = cmd.id, skip(key)",
    ] {
        reports(arguments, HANDLER, &[]);
    }
}

#[test]
fn a_codec_is_named_by_its_path() {
    reports("namespace = \"p\", codec = keys::PAYMENTS", HANDLER, &[]);
    says(
        "namespace = \"p\", codec = \"PAYMENTS\"",
        "IDEM023",
        "`codec` is written `codec = PAYMENTS`",
    );
    says(
        "namespace = \"p\", encrypt = PAYMENTS",
        "IDEM021",
        "did you mean `codec = PAYMENTS`?",
    );
}

#[test]
fn a_function_that_reviews_replays_is_named_by_its_path_and_given_whole_parameters() {
    reports(
        "namespace = \"p\", authorize = may_see, on_replay = desk::refresh",
        HANDLER,
        &[],
    );
    says(
        "namespace = \"p\", authorize = \"may_see\"",
        "IDEM023",
        "`authorize` is written `authorize = may_see_payment`",
    );
    says(
        "namespace = \"p\", authorise = may_see",
        "IDEM021",
        "did you mean `authorize = may_see_payment`?",
    );
    says(
        "namespace = \"p\", operation = \"pay\", signature = \"keep\", on_replay = refresh",
        "IDEM031",
        "the caller's transaction is open",
    );
}

#[test]
fn an_option_that_is_not_known_suggests_the_nearest() {
    says(
        "namespace = \"p\", retenton = \"24h\"",
        "IDEM021",
        "did you mean `retention = \"24h\"`?",
    );
    says(
        "namespace = \"p\", ttl = \"24h\"",
        "IDEM021",
        "did you mean `retention = \"24h\"`?",
    );
    says(
        "name_space = \"p\"",
        "IDEM021",
        "did you mean `namespace = \"payments\"`?",
    );
    says(
        "namespace = \"p\", frobnicate",
        "IDEM021",
        "the options are namespace, retention",
    );
}

#[test]
fn a_value_of_the_wrong_form_shows_the_right_one() {
    says(
        "namespace",
        "IDEM023",
        "`namespace` is written `namespace = \"payments\"`",
    );
    says(
        "namespace(\"p\")",
        "IDEM023",
        "`namespace` is written `namespace = \"payments\"`",
    );
    says(
        "namespace: \"p\"",
        "IDEM023",
        "`namespace` is written `namespace = \"payments\"`",
    );
    says(
        "namespace = payments",
        "IDEM023",
        "put it in quotes: `namespace = \"payments\"`",
    );
    says(
        "namespace = \"p\", retention = 24h",
        "IDEM023",
        "put it in quotes: `retention = \"24h\"`",
    );
    says(
        "namespace = \"p\", retention = 86400",
        "IDEM023",
        "put it in quotes: `retention = \"86400s\"`",
    );
    says(
        "namespace = \"p\", skip = cmd",
        "IDEM023",
        "`skip` is written `skip(clock, client)`",
    );
    says(
        "namespace = \"p\", skip()",
        "IDEM023",
        "`skip` is written `skip(clock, client)`",
    );
    says(
        "namespace = \"p\", skip(cmd.at)",
        "IDEM023",
        "write `fingerprint = (cmd.a, cmd.b)`",
    );
    says(
        "namespace = \"p\", key_required = \"no\"",
        "IDEM023",
        "`key_required = false`",
    );
    says(
        "namespace = \"p\", key = natural()",
        "IDEM023",
        "at least one part",
    );
    says(
        "namespace = \"p\", crate = \"idem\"",
        "IDEM023",
        "`crate = path::to::idem_runtime`",
    );
    says(
        "namespace = \"p\" skip(cmd)",
        "IDEM023",
        "expected `,` before the next option",
    );
    says("\"payments\"", "IDEM023", "expected the name of an option");
}

#[test]
fn a_value_outside_its_set_suggests_the_nearest() {
    says(
        "namespace = \"p\", on_conflict = \"wiat\"",
        "IDEM024",
        "did you mean `on_conflict = \"wait\"`?",
    );
    says(
        "namespace = \"p\", failures = \"store\"",
        "IDEM024",
        "write `failures = \"retry\"` or `\"record\"`",
    );
    says(
        "namespace = \"p\", signature = \"rewrite\"",
        "IDEM024",
        "write `signature = \"keep\"`",
    );
    says(
        "namespace = \"p\", expiry = \"strct\"",
        "IDEM024",
        "did you mean `expiry = \"strict\"`?",
    );
}

#[test]
fn names_and_durations_are_checked() {
    says(
        "",
        "IDEM025",
        "write `#[idempotent(namespace = \"payments\")]`",
    );
    says("namespace = \"\"", "IDEM026", "the namespace is empty");
    says(
        "namespace = \"Order Service\"",
        "IDEM026",
        "write `order-service`",
    );
    says(
        &format!("namespace = \"{}\"", "n".repeat(65)),
        "IDEM026",
        "at most 64 characters, this one 65",
    );
    says(
        "namespace = \"p\", operation = \" \"",
        "IDEM027",
        "is blank",
    );
    says(
        "namespace = \"p\", operation = \"a \"",
        "IDEM027",
        "write `a`",
    );
    says(
        "namespace = \"p\", operation = \"a\\nb\"",
        "IDEM027",
        "'\\n'",
    );
    says(
        &format!("namespace = \"p\", operation = \"{}\"", "o".repeat(256)),
        "IDEM027",
        "at most 255",
    );
    says(
        "namespace = \"p\", table = \"a.b.c\"",
        "IDEM028",
        "`name` or `schema.name`",
    );
    says("namespace = \"p\", table = \"a.\"", "IDEM028", "is empty");
    says(
        "namespace = \"p\", table = \"Idem\"",
        "IDEM028",
        "`Idem` must be an identifier",
    );
    says(
        "namespace = \"p\", table = \"9a\"",
        "IDEM028",
        "does not start with a digit",
    );
    says(
        &format!("namespace = \"p\", table = \"{}\"", "t".repeat(64)),
        "IDEM028",
        "at most 63 bytes",
    );
    for length in [62, 63] {
        says(
            &format!("namespace = \"p\", table = \"app.{}\"", "t".repeat(length)),
            "IDEM028",
            "at most 61 bytes",
        );
    }
    for table in ["t".repeat(61), format!("{}.t", "s".repeat(63))] {
        reports(
            &format!("namespace = \"p\", table = \"{table}\""),
            HANDLER,
            &[],
        );
    }
    says(
        "namespace = \"p\", retention = \"24 hours\"",
        "IDEM029",
        "retention `24 hours`: write `24h`",
    );
    says(
        "namespace = \"p\", retention = \"3651d\"",
        "IDEM029",
        "it can be at most `3650d`",
    );
    says(
        "namespace = \"p\", on_conflict = \"wait\", wait = \"61s\"",
        "IDEM029",
        "it can be at most `1m`",
    );
}

#[test]
fn what_is_skipped_must_be_compared_otherwise() {
    says(
        "namespace = \"p\", skip(cmb)",
        "IDEM030",
        "did you mean `cmd`?",
    );
    says(
        "namespace = \"p\", skip(cmd, cmd)",
        "IDEM030",
        "`cmd` is skipped twice",
    );
    says(
        "namespace = \"p\", skip(key)",
        "IDEM030",
        "`key` is the key",
    );
    says(
        "namespace = \"p\", skip(tx)",
        "IDEM030",
        "`tx` is the transaction",
    );
    says(
        "namespace = \"p\", key = cmd, skip(cmd, key)",
        "IDEM030",
        "`cmd` is the key",
    );
}

#[test]
fn options_that_contradict_each_other_are_refused() {
    says(
        "namespace = \"p\", wait = \"2s\"",
        "IDEM031",
        "also write `on_conflict = \"wait\"`",
    );
    says(
        "namespace = \"p\", on_conflict = \"reject\", wait = \"2s\"",
        "IDEM031",
        "does not wait",
    );
    says(
        "namespace = \"p\", fingerprint = off, skip(cmd)",
        "IDEM031",
        "nothing to skip",
    );
    says(
        "namespace = \"p\", fingerprint = cmd.id, skip(cmd)",
        "IDEM031",
        "remove `skip`",
    );
    says(
        "namespace = \"p\", fingerprint = off, record_request",
        "IDEM031",
        "no request to record",
    );
    says(
        "namespace = \"p\", key_required = false",
        "IDEM031",
        "`key: Option<IdempotencyKey>`",
    );
    says(
        "namespace = \"p\", key = natural(cmd.id), skip(key), key_required = false",
        "IDEM031",
        "never absent",
    );
}

#[test]
fn constants_identify_nothing() {
    says(
        "namespace = \"p\", key = \"cmd.id\", skip(key)",
        "IDEM032",
        "the same key for every call",
    );
    says(
        "namespace = \"p\", fingerprint = \"cmd\"",
        "IDEM032",
        "write `fingerprint = (cmd.amount",
    );
    for literal in ["\"cmd.tenant\"", "\"\"", "1", "&\"acme\"", "(\"acme\")"] {
        says(
            &format!("namespace = \"p\", scope = {literal}"),
            "IDEM032",
            "the same scope for every caller",
        );
    }
    reports("namespace = \"p\", scope = Scope::GLOBAL", HANDLER, &[]);
}

#[test]
fn an_option_is_given_once() {
    says(
        "namespace = \"p\", namespace = \"q\"",
        "IDEM022",
        "`namespace` is given twice",
    );
}

#[test]
fn independent_faults_are_reported_together() {
    reports(
        "namespace = \"P\", retention = \"0s\", ttl = \"1h\", skip(clock), table = \"T\"",
        "fn f(pool: &Pool, id: u8) -> Option<u8> {}",
        &[
            "IDEM026", "IDEM029", "IDEM021", "IDEM028", "IDEM001", "IDEM005", "IDEM003", "IDEM030",
        ],
    );
}

#[test]
fn an_option_that_cannot_be_read_is_not_missing_too() {
    let keyless = "async fn f(tx: &mut Tx<'_>, id: u8) -> Result<(), E> {}";
    reports("namespce = \"p\"", HANDLER, &["IDEM021"]);
    reports("namespace = \"p\", key = ", keyless, &["IDEM023"]);
    reports("namespace = \"p\", key = id.", keyless, &["IDEM023"]);
    reports("namespace = \"p\", kee = id", keyless, &["IDEM021"]);
    reports(
        "namespace = , retention = \"0s\"",
        HANDLER,
        &["IDEM023", "IDEM029"],
    );
    reports("namespace = \"p\", key = f(id id)", keyless, &["IDEM023"]);
}
