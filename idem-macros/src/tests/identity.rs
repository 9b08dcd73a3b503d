//! The rules that tell operations and requests apart: names, receivers, type parameters, sets.

use super::reports;

fn item(generics: &str, parameters: &str, body: &str) -> String {
    format!("async fn f{generics}({parameters}) -> Result<(), E> {{ {body} }}")
}

const PLAIN: &str = "tx: &mut PgTransaction<'_>, key: &IdempotencyKey, cmd: &Pay";

#[track_caller]
fn says(arguments: &str, item: &str, code: &str, message: &str) {
    let errors = reports(&format!("namespace = \"p\"{arguments}"), item, &[code]);
    assert!(errors[0].contains(message), "{}", errors[0]);
}

#[track_caller]
fn accepts(arguments: &str, item: &str) {
    reports(&format!("namespace = \"p\"{arguments}"), item, &[]);
}

#[test]
fn whatever_shows_that_it_stands_in_an_impl_says_its_operation() {
    let receiver = format!("&self, {PLAIN}");
    for (arguments, item) in [
        (", skip(self)", item("", &receiver, "")),
        ("", item("", PLAIN, "Self::pay(tx).await")),
        ("", item("", PLAIN, "pay(&[Vec::<Self>::new()]).await")),
        ("", item("", &PLAIN.replace("Pay", "Self"), "")),
        ("", item("", &PLAIN.replace("'_", "'a"), "")),
        (", signature = \"keep\"", item("", PLAIN, "")),
        (", scope = Self::tenant(cmd)", item("", PLAIN, "")),
        (", fingerprint = (Self::KIND, cmd)", item("", PLAIN, "")),
    ] {
        says(
            arguments,
            &item,
            "IDEM015",
            "write `operation = \"order.f\"`",
        );
        accepts(&format!("{arguments}, operation = \"pay\""), &item);
    }
    for item in [
        item("", PLAIN, "struct A; impl A { fn new() -> Self { A } }"),
        item("<'a>", &PLAIN.replace("'_", "'a"), ""),
    ] {
        accepts("", &item);
    }
}

#[test]
fn a_receiver_is_compared_or_skipped_in_any_form() {
    let operation = ", operation = \"o\"";
    for receiver in [
        "self",
        "mut self",
        "&self",
        "&'a mut self",
        "self: Arc<Self>",
        "self: &Box<Self>",
        "self: Pin<&mut Self>",
    ] {
        let item = item("<'a>", &format!("{receiver}, {PLAIN}"), "");
        says(
            operation,
            &item,
            "IDEM016",
            "`fingerprint = (self.id, cmd)`",
        );
        says(
            &format!("{operation}, fingerprint = (cmd.id, it.self_id)"),
            &item,
            "IDEM016",
            "write `skip(self)`",
        );
        for parameter in [
            "skip(self)",
            "skip(self, cmd)",
            "fingerprint = (self.id, cmd)",
            "fingerprint = self",
            "fingerprint = sorted(&self.ids)",
            "fingerprint = cmd, skip(self)",
            "fingerprint = off",
            "fingerprint = off, skip(self)",
        ] {
            accepts(&format!("{operation}, {parameter}"), &item);
        }
    }
    let free = item("", PLAIN, "");
    says(", skip(self)", &free, "IDEM030", "no receiver");
}

#[test]
fn a_parameter_of_the_function_is_compared_or_skipped_or_part_of_the_operation() {
    for (generics, name) in [("<T: Kind>", "T"), ("<'a, const T: u8>", "T")] {
        let item = item(generics, PLAIN, "");
        says("", &item, "IDEM017", &format!("write `skip({name})`"));
        says(
            ", operation = \"o\"",
            &item,
            "IDEM017",
            "an operation of its own",
        );
        says(
            ", operation = kind()",
            &item,
            "IDEM017",
            "an operation of its own",
        );
        says(
            ", fingerprint = off",
            &item,
            "IDEM017",
            "an operation of its own",
        );
        for parameter in [
            ", skip(T)",
            ", skip(T, cmd)",
            ", operation = format!(\"pay-{T}\")",
            ", operation = format!(\"pay-{}\", T::NAME)",
            ", operation = T::NAME",
            ", fingerprint = (T::NAME, cmd.id)",
            ", fingerprint = cmd.id, skip(T)",
            ", fingerprint = off, skip(T)",
        ] {
            accepts(parameter, &item);
        }
    }
}

#[test]
fn a_type_that_a_compared_value_is_of_needs_no_more() {
    for (arguments, parameters) in [
        ("", format!("{PLAIN}, value: &[T]")),
        ("", format!("{PLAIN}, Json(value): Json<Pair<u8, T>>")),
        ("", format!("{PLAIN}, value: [u8; T]")),
        (
            ", fingerprint = (cmd.id, value.part)",
            format!("{PLAIN}, value: T"),
        ),
        (", key = token, skip(key)", format!("{PLAIN}, token: T")),
        ("", PLAIN.replace("PgTransaction<'_>", "Transaction<'_, T>")),
    ] {
        accepts(arguments, &item("<T>", &parameters, ""));
    }
    for (arguments, parameters) in [
        (", skip(value)", format!("{PLAIN}, value: T")),
        ("", format!("{PLAIN}, _: T")),
        ("", format!("{PLAIN}, value: PhantomData<T>")),
        ("", format!("{PLAIN}, value: T::Value")),
        ("", format!("{PLAIN}, value: <T as Kind>::Value")),
        (", fingerprint = cmd.id", format!("{PLAIN}, value: T")),
        (
            "",
            PLAIN.replace("PgTransaction<'_>", "Transaction<'_, T::Database>"),
        ),
    ] {
        let item = item("<T>", &parameters, "");
        says(arguments, &item, "IDEM017", "`skip(T)`");
    }
}

#[test]
fn an_argument_of_impl_trait_is_skipped_by_its_own_name() {
    let clock = format!("{PLAIN}, clock: Option<impl Clock>");
    accepts("", &item("", &clock, ""));
    for parameter in [
        ", skip(clock)",
        ", fingerprint = (cmd.id, clock.zone())",
        ", fingerprint = cmd.id, skip(clock)",
        ", fingerprint = off, skip(clock)",
        ", fingerprint = cmd.id, operation = clock.name()",
    ] {
        accepts(parameter, &item("", &clock, ""));
    }
    for arguments in [", fingerprint = cmd.id", ", fingerprint = off"] {
        says(
            arguments,
            &item("", &clock, ""),
            "IDEM017",
            "write `skip(clock)`",
        );
    }
    let nameless = format!("{PLAIN}, _: impl Clock");
    says("", &item("", &nameless, ""), "IDEM017", "give it a name");
    accepts(
        ", key = token, skip(key)",
        &item("", &format!("{PLAIN}, token: impl KeySource"), ""),
    );
}

#[test]
fn a_set_without_an_order_is_not_compared() {
    for ty in [
        "HashSet<u8>",
        "&collections::HashSet<u8>",
        "Vec<(u8, FxHashSet<u8>)>",
    ] {
        let item = item("", &format!("{PLAIN}, tags: {ty}"), "");
        says("", &item, "IDEM018", "take a `BTreeSet`");
        says(
            ", fingerprint = (cmd.id, &tags)",
            &item,
            "IDEM018",
            "sorted",
        );
        for parameter in [
            ", skip(tags)",
            ", fingerprint = off",
            ", fingerprint = cmd.id",
            ", fingerprint = (cmd.id, sorted(&tags))",
        ] {
            accepts(parameter, &item);
        }
    }
    accepts(
        "",
        &item("", &format!("{PLAIN}, tags: HashMap<u8, BTreeSet<u8>>"), ""),
    );
}

#[test]
fn an_operation_is_a_literal_or_an_expression() {
    let item = item("", PLAIN, "");
    for operation in [
        "\"pay\"",
        "(\"pay\")",
        "NAME",
        "cmd.kind.name()",
        "format!(\"pay-{}\", cmd.kind)",
    ] {
        accepts(&format!(", operation = {operation}"), &item);
    }
    says(", operation = (\" pay\")", &item, "IDEM027", "write `pay`");
    says(", operation = 1", &item, "IDEM023", "operation = \"1\"");
    says(
        ", operation",
        &item,
        "IDEM023",
        "operation = \"create_payment\"",
    );
}

#[test]
fn a_marker_is_a_type_beside_a_function_whose_operation_is_constant() {
    let function = item("", PLAIN, "");
    let arguments = ", marker = Pay, operation = \"pay\"".to_owned();
    let applied = super::apply(&format!("namespace = \"p\"{arguments}"), &function);
    assert_eq!(applied.errors, [""; 0]);
    // The type, its operation and the handler.
    assert_eq!(applied.items.len(), 3);
    let method = item("", &format!("&self, {PLAIN}"), "");
    says(
        &format!("{arguments}, skip(self)"),
        &method,
        "IDEM033",
        "free function",
    );
    let computed = super::apply(
        "namespace = \"p\", marker = Pay, operation = cmd.name()",
        &function,
    );
    assert_eq!(computed.codes(), ["IDEM033"]);
    assert!(computed.errors[0].contains("as a literal"));
    // Code that names the type still finds it.
    assert_eq!(computed.items.len(), 3);
    says(
        ", marker = \"Pay\"",
        &function,
        "IDEM023",
        "`marker = CreatePaymentOperation`",
    );
}
