#![deny(warnings)]
#![allow(dead_code)]

use idem_ui_tests::*;

#[idempotent(namespace = "payments", key = r#type, skip(r#loop))]
async fn r#move(r#mut: &mut PgTransaction<'_>, r#type: &str, r#match: u8, r#loop: Clock) -> ApiResult<u8> {
    let _ = r#loop;
    sqlx::query("SELECT 1").bind(r#type).execute(&mut **r#mut).await?;
    Ok(r#match)
}

fn main() {}
