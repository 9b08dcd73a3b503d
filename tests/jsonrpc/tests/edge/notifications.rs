//! Notifications: jsonrpsee runs no method for them.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use idem_tests_jsonrpc::Shop;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use crate::client::{call, order, request, send};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Log {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

impl Log {
    fn drain(&self) -> String {
        let bytes = std::mem::take(&mut *self.0.lock().expect("no panic"));
        String::from_utf8(bytes).expect("text")
    }
}

fn without_id(mut call: Value) -> Value {
    call.as_object_mut().expect("an object").remove("id");
    call
}

/// The only test of this file, since it listens to all of the process.
#[tokio::test]
async fn a_notification_has_no_effect_and_one_with_a_key_is_warned_of() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt().with_writer(log.clone()).finish();
    let _ = tracing::subscriber::set_global_default(subscriber);
    let shop = Shop::open().await;
    let keyless = without_id(call("orders.note", None, json!({ "a": 1 })));
    request(&shop, &keyless).send().await.expect("acknowledged");
    assert!(
        !log.drain()
            .contains("a notification has an idempotency key")
    );
    let keyed = without_id(order("secret-key", "tea"));
    request(&shop, &keyed).send().await.expect("acknowledged");
    let said = log.drain();
    assert!(
        said.contains("a notification has an idempotency key") && said.contains("orders.place"),
        "{said}"
    );
    assert!(!said.contains("secret-key"), "{said}");
    let batch = json!([keyed, order("a", "tea")]);
    let answers = send(&shop, &batch).await;
    assert_eq!(answers.as_array().map(Vec::len), Some(1));
    assert!(
        log.drain()
            .contains("a notification has an idempotency key")
    );
    assert_eq!(shop.count().await, (1, 1));
}
