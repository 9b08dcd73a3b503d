use idem_ui_tests::*;

struct Service;

impl Service {
    // What `#[async_trait]` leaves of an async method.
    #[idempotent(namespace = "payments")]
    fn create<'a>(&'a self) -> std::pin::Pin<Box<dyn Future<Output = ApiResult<Payment>> + Send + 'a>> {
        Box::pin(async move { Ok(Payment { id: 1 }) })
    }
}

fn main() {}
