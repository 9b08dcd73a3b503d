//! Whose function raises: no other function is ever called, and without the right one the answers are the same.

use idem_runtime::error::SchemaFinding;
use idem_runtime::schema;
use idem_tests::postgres::{Shop, fresh_key};
use sqlx::{AssertSqlSafe, Executor as _};

use super::raised::{Other, create_function, recorded, say};

/// The parameters of the function.
const PARAMETERS: &str = "timestamptz, timestamptz, timestamptz, uuid, integer, smallint, smallint, smallint, text, \
     bytea, bytea, bytea, bytea";

/// A function that leaves a trace if it is ever called: a sequence does not go back with its transaction.
fn spy(name: &str, last: &str, then: &str) -> String {
    format!(
        "CREATE SEQUENCE IF NOT EXISTS public.called; GRANT ALL ON public.called TO PUBLIC; \
         CREATE OR REPLACE FUNCTION {name}(created_at timestamptz, expires_at timestamptz, \
           locked_until timestamptz, attempt_id uuid, attempt integer, status smallint, \
           fingerprint_version smallint, codec smallint, operation text, fingerprint bytea, request bytea, \
           result bytea, failure {last}) RETURNS text LANGUAGE plpgsql AS \
         $$ BEGIN PERFORM nextval('public.called'); {then} END $$"
    )
}

const NAME: &str = "idem_record_found";

async fn reason(shop: &Shop, role: Option<&str>) -> Option<&'static str> {
    let mut conn = shop.database.connect().await;
    if let Some(role) = role {
        let role = format!("SET ROLE {role}");
        conn.execute(AssertSqlSafe(role)).await.expect("a role");
    }
    let findings = schema::verify(&mut conn).await.expect("it is fit");
    findings.into_iter().find_map(|finding| match finding {
        SchemaFinding::FunctionUnused { reason, .. } => Some(reason),
        _ => None,
    })
}

/// The changes after which the function is not called, and what verification says of them.
fn changes() -> [(String, &'static str); 8] {
    let returns = "RETURN ''; ";
    let drop = format!("DROP FUNCTION {NAME};");
    [
        (drop.clone(), "missing"),
        (
            format!("ALTER FUNCTION {NAME} OWNER TO pg_monitor"),
            "owner",
        ),
        (
            format!("REVOKE EXECUTE ON FUNCTION {NAME} FROM PUBLIC"),
            "executed by this account",
        ),
        (
            format!("ALTER FUNCTION {NAME} SECURITY DEFINER"),
            "migration's",
        ),
        (format!("ALTER FUNCTION {NAME} IMMUTABLE"), "migration's"),
        (
            format!("ALTER FUNCTION {NAME} SET work_mem = '4MB'"),
            "migration's",
        ),
        (spy(NAME, "bytea", returns), "migration's"),
        // Its last parameter would take the claim's value, were it not cast to the function's own type.
        (
            format!("{drop} {}", spy(NAME, "anyelement", returns)),
            "missing",
        ),
    ]
}

const GRANT: &str = "GRANT ALL ON payment, idem_record, payment_id_seq TO pg_monitor; GRANT CREATE ON SCHEMA public TO pg_monitor";

async fn is_called(shop: &Shop) -> bool {
    shop.run("CREATE SEQUENCE IF NOT EXISTS public.called")
        .await;
    sqlx::query_scalar("SELECT is_called FROM public.called")
        .fetch_one(&mut shop.database.connect().await)
        .await
        .expect("it answers")
}

#[tokio::test]
async fn a_function_that_is_not_the_table_owners_own_is_not_called_and_is_reported() {
    for (change, reported) in changes() {
        let shop = Shop::open(1).await;
        shop.run(GRANT).await;
        assert_eq!(reason(&shop, Some("pg_monitor")).await, None);
        shop.run(&change).await;
        let found = reason(&shop, Some("pg_monitor")).await;
        assert!(
            found.is_some_and(|found| found.contains(reported)),
            "{found:?}"
        );
        let key = recorded(&shop, "plain").await;
        let other = Other::by(&shop, &[("role", "pg_monitor")]);
        other.assert_replays(&key, "plain").await;
        assert!(!other.was_raised(&shop).await, "{change}");
        assert!(!is_called(&shop).await, "{change}");
    }
}

/// The function is the table owner's, who may change it: whatever it does then, a record stays a record.
#[tokio::test]
async fn a_function_that_is_changed_or_lost_later_changes_no_answer() {
    let mut changes: Vec<_> = changes().into_iter().map(|(change, _)| change).collect();
    for code in [
        "ID004", "22P02", "22007", "26000", "42704", "25P02", "XX000",
    ] {
        changes.push(spy(
            NAME,
            "bytea",
            &format!("RAISE EXCEPTION USING ERRCODE = '{code}', CONSTRAINT = 'x'; "),
        ));
    }
    changes.push(spy(NAME, "bytea", "RETURN NULL; "));
    changes.push(spy(NAME, "bytea", "RETURN 'x'; "));
    for change in changes {
        let shop = Shop::open(1).await;
        shop.run(GRANT).await;
        let other = Other::by(&shop, &[("role", "pg_monitor")]);
        let key = recorded(&shop, "plain").await;
        other.assert_replays(&key, "plain").await;
        assert!(other.was_raised(&shop).await);
        shop.run(&change).await;
        for _ in 0..2 {
            let fresh = fresh_key();
            let said = say(&other.pool, &fresh, "new", true).await;
            assert!(
                !said
                    .unwrap_or_else(|error| panic!("{change}: {error:?}"))
                    .replayed()
            );
            let key = recorded(&shop, "plain").await;
            other.assert_replays(&key, "plain").await;
        }
    }
}

/// Any role may create functions where it may create anything. The owner's is gone, and another role puts one
/// of the same name and parameters in its place.
#[tokio::test]
async fn another_roles_function_in_place_of_a_lost_one_is_never_called() {
    let shop = Shop::open(1).await;
    shop.run(GRANT).await;
    let other = Other::of(&shop);
    let key = recorded(&shop, "plain").await;
    other.assert_replays(&key, "plain").await;
    assert!(other.was_raised(&shop).await);
    let trap = spy(NAME, "bytea", "RETURN ''; ");
    shop.run(&format!(
        "DROP FUNCTION {NAME}({PARAMETERS}); SET ROLE pg_monitor; {trap}"
    ))
    .await;
    for other in [&other, &Other::of(&shop)] {
        let said = say(&other.pool, &fresh_key(), "new", true).await;
        assert!(!said.expect("fresh").replayed());
        let key = recorded(&shop, "plain").await;
        other.assert_replays(&key, "plain").await;
        assert!(!other.was_raised(&shop).await);
    }
    assert!(!is_called(&shop).await);
}

/// A schema for each tenant, and one pool for all: the claim that was prepared for one tenant's table runs over
/// another's.
#[tokio::test]
async fn the_function_beside_one_tenants_table_is_not_called_of_anothers() {
    let shop = Shop::open(1).await;
    shop.run("DROP TABLE idem_record CASCADE; DROP FUNCTION idem_record_found; CREATE SCHEMA a; CREATE SCHEMA b")
        .await;
    for tenant in ["a", "b"] {
        let mut conn = shop.database.connect().await;
        let set = format!("SET search_path = {tenant}, public");
        conn.execute(AssertSqlSafe(set)).await.expect("a schema");
        schema::create_if_missing(&mut conn).await.expect("a table");
    }
    let of = |tenant: &str| Other::by(&shop, &[("search_path", &format!("{tenant}, public"))]);
    let key = fresh_key();
    for tenant in ["a", "b"] {
        let said = say(&of(tenant).pool, &key, tenant, true).await;
        assert!(!said.expect("fresh").replayed(), "each has keys of its own");
    }
    let other = of("a");
    let said = say(&other.pool, &key, "a", true).await.expect("recorded");
    assert_eq!((said.replayed(), &**said), (true, "a"));
    assert!(other.was_raised(&shop).await);
    let replay_in = async |tenant: &str| {
        let set = format!("SET search_path = {tenant}, public");
        let set = other.pool.execute(AssertSqlSafe(set)).await;
        set.expect("a schema");
        let key = fresh_key();
        let said = say(&of(tenant).pool, &key, tenant, true).await;
        assert!(!said.expect("fresh").replayed());
        other.assert_replays(&key, tenant).await;
    };
    replay_in("b").await;
    assert!(other.was_raised(&shop).await, "it is prepared anew");
    shop.run(&spy("b.idem_record_found", "bytea", "RETURN ''; "))
        .await;
    replay_in("a").await;
    assert!(!is_called(&shop).await, "a's record");
    replay_in("b").await;
    assert!(is_called(&shop).await, "its own record");
}

#[tokio::test]
async fn a_function_beside_a_table_of_another_name_or_schema_raises_its_records() {
    let shop = Shop::open(1).await;
    create_function(&shop).await;
    assert_eq!(reason(&shop, None).await, None);
    let mut conn = shop.database.connect().await;
    conn.execute("CREATE SCHEMA \"Odd one\"")
        .await
        .expect("new");
    for (table, unused) in [("billing", false), ("public.billing_2", false)] {
        schema::create_table_if_missing(&mut conn, table)
            .await
            .expect("a table");
        let found = schema::verify_table(&mut conn, table).await.expect("fit");
        assert_eq!(!found.is_empty(), unused, "{found:?}");
    }
    conn.execute("SET search_path = \"Odd one\"")
        .await
        .expect("there");
    schema::create_if_missing(&mut conn).await.expect("a table");
    let found = schema::verify(&mut conn).await.expect("fit");
    assert!(
        matches!(&*found, [SchemaFinding::FunctionUnused { reason, .. }] if reason.contains("schema")),
        "{found:?}"
    );
    let other = Other::by(&shop, &[("search_path", "\"Odd one\"")]);
    for replayed in [false, true] {
        let said = say(
            &other.pool,
            &"odd"
                .parse()
                .map(idem_runtime::IdempotencyKey::global)
                .expect("a key"),
            "odd",
            true,
        )
        .await;
        assert_eq!(said.expect("it says").replayed(), replayed);
    }
}
