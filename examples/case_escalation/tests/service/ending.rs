//! How the program ends.

use std::process::Stdio;

use tokio::io::{AsyncBufReadExt as _, BufReader};
use tokio::process::Command;

#[tokio::test]
async fn a_process_manager_and_a_terminal_both_end_it_in_order() {
    for signal in ["TERM", "INT"] {
        let mut service = Command::new(env!("CARGO_BIN_EXE_case-escalation"))
            .env("PORT", "0")
            .env_remove("DATABASE")
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("the program");
        let output = service.stdout.take().expect("its output");
        let line = BufReader::new(output).lines().next_line().await;
        assert!(
            line.expect("text")
                .is_some_and(|line| line.starts_with("http://"))
        );
        let id = service.id().expect("it runs").to_string();
        let sent = Command::new("kill")
            .args(["-s", signal, &id])
            .status()
            .await;
        assert!(sent.expect("the command kill").success());
        let status = service.wait().await.expect("its end");
        assert!(status.success(), "SIG{signal}: {status}");
    }
}
