//! What looks for leases on MySQL and MariaDB reads them, and not every record of their namespace.

use sqlx::{Executor as _, MySqlConnection, Row as _};

use crate::database::{LeaseDatabase as _, MySql, mails};

/// The records that have been read on this connection.
async fn reads(conn: &mut MySqlConnection) -> u64 {
    let rows = conn
        .fetch_all(sqlx::raw_sql("SHOW SESSION STATUS LIKE 'Handler_read%'"))
        .await
        .expect("it answers");
    let values = rows.iter().map(|row| row.get::<String, _>(1));
    values
        .map(|value| value.parse::<u64>().expect("a number"))
        .sum()
}

/// 4,000 completed records, and 10 leases. Of these, 5 are of unknown outcome, and 5 have lapsed.
const RECORDS: &str = "INSERT INTO idem_record (created_at, expires_at, locked_until, attempt_id, attempt, status, \
     fingerprint_version, codec, on_lapse, namespace, scope, `key`, operation, result) \
     SELECT 1, IF(n < 10, 9223372036854775807, 2), IF(n < 10, n + 1, NULL), UNHEX(LPAD(HEX(n), 32, '0')), 1, \
     IF(n < 10, 3 + n DIV 5, 1), 1, 1, 1, 'mail', '', n, 'send', IF(n < 10, NULL, x'31') \
     FROM (SELECT a.d + 10 * b.d + 100 * c.d + 1000 * e.d AS n FROM \
     (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 \
      UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) AS a, \
     (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 \
      UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) AS b, \
     (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4 UNION SELECT 5 UNION SELECT 6 \
      UNION SELECT 7 UNION SELECT 8 UNION SELECT 9) AS c, \
     (SELECT 0 AS d UNION SELECT 1 UNION SELECT 2 UNION SELECT 3 UNION SELECT 4) AS e) AS numbers WHERE n < 4010";

/// The most records that a statement reads that looks for ten.
const MOST: u64 = 100;

#[tokio::test(flavor = "multi_thread")]
async fn what_looks_for_leases_reads_no_other_record_of_the_namespace_on_mysql() {
    let database = MySql::open().await;
    database.run(RECORDS).await;
    for statistics in ["DO 0", "ANALYZE TABLE idem_record"] {
        let mut conn = database.database.connect().await;
        conn.execute(sqlx::raw_sql(statistics))
            .await
            .expect("it answers");
        let mails = mails();
        let mut each = Vec::new();
        for statement in 0..4 {
            let before = reads(&mut conn).await;
            let mut bound = mails.in_connection(&mut conn);
            match statement {
                0 => {
                    let lapsed = bound.lapse_overdue("send", 1).await;
                    assert_eq!(lapsed.expect("they have lapsed"), 1);
                }
                1 => {
                    let listed = bound.list_unknown(3, None).await.expect("listed");
                    assert_eq!(listed.len(), 3);
                }
                2 => {
                    let listed = bound.list_unknown(1, None).await.expect("listed");
                    let next = bound.list_unknown(3, listed.first()).await;
                    assert_eq!(next.expect("listed").len(), 3);
                }
                _ => assert!(bound.count_unknown().await.expect("counted") > 5),
            }
            each.push(reads(&mut conn).await - before);
        }
        assert!(
            each.iter().all(|read| *read <= MOST),
            "{statistics}: {each:?}"
        );
    }
}
