use idem_ui_tests::*;

use core::time::Duration;
use idem_runtime::{LeasedOperation, Operation, policy::OnLapse};

const SEND: LeasedOperation = Operation::new("mail", "send").optional_key().lease(Duration::from_secs(60), OnLapse::Retry);

fn main() {}
