//! The laws that must hold in an editor.

use super::document::Document;
use crate::Outcome;

type Law = (&'static str, fn(&mut Document<'_>) -> Outcome);

pub(super) const ALL: [Law; 9] = [
    ("a finished handler has no errors", no_errors),
    (
        "a body completes the transaction's methods",
        completes_transaction,
    ),
    ("a body completes the command's fields", completes_command),
    ("hover shows the generated signature", hover),
    ("names lead to their definitions", definitions),
    (
        "one mistake in the arguments is one error, at the mistake",
        one_argument,
    ),
    (
        "one mistake in the signature is one error, at the mistake",
        one_signature,
    ),
    ("two mistakes are two errors", two_mistakes),
    (
        "one mistake in a derived error is one error, at the mistake",
        one_word,
    ),
];

/// The attribute while it is typed: complete, and cut off at each point where one may pause.
const TYPED: [&str; 5] = [
    NAMESPACE,
    "namespace = ",
    "namespace = \"payments\", ret",
    "namespace = \"payments\", key = cmd.",
    "",
];

const NAMESPACE: &str = "namespace = \"payments\"";

const RETURNS: &str = "Ok(Payment { id: cmd.amount })";

/// Returns the file without a mistake.
pub(super) fn finished() -> String {
    program(NAMESPACE, RETURNS)
}

/// Returns the file with these arguments and this body.
fn program(arguments: &str, body: &str) -> String {
    around(&handler(arguments, body))
}

fn handler(arguments: &str, body: &str) -> String {
    format!(
        "\
#[idempotent({arguments})]
pub async fn create(tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &Create) -> Result<Payment, PayError> {{
    {body}
}}"
    )
}

/// Returns the file with this handler.
fn around(handler: &str) -> String {
    format!(
        "\
use idem_runtime::{{Failure, IdempotencyKey, StoredFailure, idempotent}};
use serde::{{Deserialize, Serialize}};
use sqlx::PgPool;
use sqlx::postgres::PgTransaction;

#[derive(Serialize)]
pub struct Create {{
    pub amount: i64,
    pub payee: String,
}}

#[derive(Serialize, Deserialize)]
pub struct Payment {{
    pub id: i64,
}}

#[derive(Debug, thiserror::Error, Failure)]
pub enum PayError {{
    #[error(\"declined\")]
    #[failure(permanent)]
    Declined,
    #[error(transparent)]
    Database(#[from] sqlx::Error),
    #[error(transparent)]
    Idempotency(#[from] idem_runtime::Error),
    #[error(\"{{}}\", .0.message)]
    #[failure(replayed)]
    Recorded(StoredFailure),
}}

{handler}

pub async fn caller(pool: &PgPool, key: &IdempotencyKey, cmd: &Create) -> Result<i64, PayError> {{
    let payment = create(pool, key, cmd).await?;
    Ok(payment.id)
}}
"
    )
}

fn no_errors(document: &mut Document<'_>) -> Outcome {
    document.set(finished())?;
    expect(&document.errors()?, &[])
}

fn completes_transaction(document: &mut Document<'_>) -> Outcome {
    for arguments in TYPED {
        let body = format!("tx./**/;\n    {RETURNS}");
        document.set(program(arguments, &body))?;
        offers(document, "tx.", &["commit", "rollback"], arguments)?;
    }
    Ok(())
}

fn completes_command(document: &mut Document<'_>) -> Outcome {
    for arguments in TYPED {
        document.set(program(arguments, "let amount = cmd./**/;"))?;
        offers(document, "amount = cmd.", &["amount", "payee"], arguments)?;
        // Nothing follows: the body does not even have a tail expression.
        document.set(program(arguments, "cmd."))?;
        offers(document, "    cmd.", &["amount", "payee"], arguments)?;
    }
    Ok(())
}

fn offers(document: &mut Document<'_>, after: &str, names: &[&str], arguments: &str) -> Outcome {
    let offered = document.completions(after)?;
    for name in names {
        if !offered.iter().any(|offer| offer == name) {
            return Err(format!("under `#[idempotent({arguments})]`, `{after}` does not offer `{name}` but {offered:?}").into());
        }
    }
    Ok(())
}

fn hover(document: &mut Document<'_>) -> Outcome {
    for arguments in TYPED {
        document.set(program(arguments, RETURNS))?;
        let shown = document.hover("let payment = create")?;
        for part in [
            "Begin<'_, PgTransaction<'_>>",
            "Result<::idem_runtime::Replayable<Payment>, PayError>",
        ] {
            if !shown.contains(part) {
                return Err(
                    format!("under `#[idempotent({arguments})]`, no `{part}` in: {shown}").into(),
                );
            }
        }
    }
    Ok(())
}

fn definitions(document: &mut Document<'_>) -> Outcome {
    for arguments in TYPED {
        document.set(program(arguments, RETURNS))?;
        for (name, line) in [
            ("let payment = create", "pub async fn create"),
            ("id: cmd.amount", "pub amount: i64,"),
            ("id: cmd", "pub async fn create"),
            ("Ok(payment.id", "pub id: i64,"),
        ] {
            let found = document.definition(name)?;
            if !found.starts_with(line) {
                return Err(format!(
                    "under `#[idempotent({arguments})]`, `{name}` leads to `{found}`"
                )
                .into());
            }
        }
    }
    Ok(())
}

fn one_argument(document: &mut Document<'_>) -> Outcome {
    for (arguments, at, code) in [
        ("namespace = ", "namespace", "IDEM023"),
        ("namespace = \"payments\", ret", "ret", "IDEM021"),
        (
            "namespace = \"payments\", retention = \"1.5h\"",
            "\"1.5h\"",
            "IDEM029",
        ),
        ("namespace = \"payments\", skip(cmb)", "cmb", "IDEM030"),
        ("namespace = \"payments\", wait = \"2s\"", "wait", "IDEM031"),
    ] {
        document.set(program(arguments, RETURNS))?;
        expect(&document.errors()?, &[(at, code)])?;
    }
    Ok(())
}

fn one_signature(document: &mut Document<'_>) -> Outcome {
    let handler = handler(NAMESPACE, RETURNS);
    // An error over several tokens is underlined at the first.
    for (right, wrong, at, code) in [
        ("pub async fn create", "pub fn create", "fn", "IDEM001"),
        (
            "&mut PgTransaction<'_>",
            "PgTransaction<'_>",
            "PgTransaction",
            "IDEM005",
        ),
        (
            "Result<Payment, PayError>",
            "Option<Payment>",
            "Option",
            "IDEM003",
        ),
    ] {
        document.set(around(&handler.replace(right, wrong)))?;
        let errors = document.errors()?;
        expect(&errors, &[(at, code)])?;
    }
    Ok(())
}

fn two_mistakes(document: &mut Document<'_>) -> Outcome {
    document.set(program(
        "namespace = \"Payments\", retention = \"0s\"",
        RETURNS,
    ))?;
    expect(
        &document.errors()?,
        &[("\"Payments\"", "IDEM026"), ("\"0s\"", "IDEM029")],
    )
}

fn one_word(document: &mut Document<'_>) -> Outcome {
    for (wrong, at, code) in [
        ("permanent, cl", "cl", "IDEM021"),
        ("", "failure", "IDEM023"),
    ] {
        let text = finished().replace("failure(permanent)", &format!("failure({wrong})"));
        document.set(text)?;
        expect(&document.errors()?, &[(at, code)])?;
    }
    Ok(())
}

fn expect(errors: &[super::document::Underlined], expected: &[(&str, &str)]) -> Outcome {
    let same = errors.len() == expected.len()
        && expected.iter().all(|(at, code)| {
            errors
                .iter()
                .any(|error| error.at == *at && error.message.contains(&format!("[{code}]")))
        });
    if same {
        Ok(())
    } else {
        Err(format!("{expected:?} expected, but these are underlined: {errors:#?}").into())
    }
}
