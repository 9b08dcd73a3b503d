//! Faults of the options about versions.

use super::{HANDLER, reports};

const P: &str = "namespace = \"p\", ";

#[track_caller]
fn says(arguments: &str, code: &str, message: &str) {
    let errors = reports(&format!("{P}{arguments}"), HANDLER, &[code]);
    assert!(errors[0].contains(message), "{}", errors[0]);
}

#[test]
fn versions_without_faults_report_none() {
    for arguments in [
        "result_version = 1",
        "result_version = 1, write_version = 1",
        "result_version = 2, upcast = upcast_payment",
        "result_version = 2, upcast = v1::upcast, write_version = 2",
        "result_version = 2, upcast = off",
        "result_version = 2, upcast = off, write_version = 2",
        "result_version = 2, upcast(upcast_payment), write_version = 1",
        "result_version = 3, upcast(a, b), write_version = 1, downcast = c",
        "result_version = 3, upcast = b, write_version = 2, downcast = c",
        "result_version = 65535, upcast = a",
        "lease = \"5m\", result_version = 2, upcast = a",
    ] {
        let handler = if arguments.starts_with("lease") {
            "async fn f(attempt: &Attempt, key: &IdempotencyKey) -> Result<(), E> {}"
        } else {
            HANDLER
        };
        reports(&format!("{P}{arguments}"), handler, &[]);
    }
}

#[test]
fn a_version_is_a_number_that_was_or_is() {
    says(
        "result_version = 0",
        "IDEM036",
        "the first version of a result is 1",
    );
    says(
        "result_version = \"2\"",
        "IDEM036",
        "without quotes: `result_version = 2`",
    );
    says("result_version = 65536", "IDEM036", "from 1 to 65535");
    says("result_version = -1", "IDEM036", "from 1 to 65535");
    says("result_version = two", "IDEM036", "from 1 to 65535");
    says(
        "result_version",
        "IDEM023",
        "`result_version` is written `result_version = 2`",
    );
    says(
        "version = 2",
        "IDEM021",
        "did you mean `result_version = 2`?",
    );
}

#[test]
fn what_is_read_was_written() {
    says("result_version = 2", "IDEM031", "add `upcast = path`");
    says("upcast = a", "IDEM031", "there is only version 1");
    says(
        "result_version = 1, upcast = a",
        "IDEM031",
        "0 older versions",
    );
    says(
        "result_version = 1, upcast = off",
        "IDEM031",
        "version 1 has no older one",
    );
    says(
        "result_version = 3, upcast(a, b, c)",
        "IDEM031",
        "2 older versions, and there is a function for 3",
    );
    says(
        "result_version = 2, upcast()",
        "IDEM023",
        "`upcast` is written",
    );
    says(
        "result_version = 2, upcast(|old| old)",
        "IDEM023",
        "the path of a function",
    );
}

#[test]
fn what_is_written_is_read() {
    says("write_version = 1", "IDEM031", "there is only version 1");
    says(
        "result_version = 2, upcast = a, write_version = 3",
        "IDEM031",
        "version 3 is newer than `result_version = 2`",
    );
    says(
        "result_version = 3, upcast = b, write_version = 1",
        "IDEM031",
        "reads version 2 to 3",
    );
    says(
        "result_version = 2, upcast = off, write_version = 1",
        "IDEM031",
        "could not read what it writes",
    );
    says(
        "result_version = 2, upcast = a, downcast = b",
        "IDEM031",
        "the present version is written as it is",
    );
    says(
        "result_version = 2, upcast = a, write_version = 2, downcast = b",
        "IDEM031",
        "the present version is written as it is",
    );
}
