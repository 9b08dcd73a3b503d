use idem_ui_tests::*;

use core::time::Duration;
use idem_runtime::{LeasedOperation, Operation, policy::OnLapse};

const SEND: LeasedOperation = Operation::new("mail", "send").lease(Duration::from_secs(60), OnLapse::Retry);
const KEPT: LeasedOperation = SEND.record_request();
const OPTIONAL: LeasedOperation = SEND.optional_key();

fn main() {}
