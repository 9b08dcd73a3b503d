use idem_ui_tests::*;

use core::time::Duration;
use idem_runtime::{LeasedOperation, Operation, policy::OnLapse};

const MINUTE: Duration = Duration::from_secs(60);

const SEND: LeasedOperation = Operation::new("mail", "send").lease(MINUTE, OnLapse::Retry).lease(MINUTE, OnLapse::Unknown);

fn main() {}
