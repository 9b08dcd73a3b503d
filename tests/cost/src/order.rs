//! A typical typed request of 1 KB: nested, with fields in no particular order and some of them
//! absent.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Order {
    pub(crate) customer: i64,
    currency: String,
    billing: Address,
    shipping: Address,
    lines: Vec<Line>,
    coupon: Option<String>,
    discount: f64,
    remark: String,
}

#[derive(Serialize)]
struct Address {
    name: String,
    street: String,
    house: u32,
    zip: String,
    city: String,
    country: String,
    note: Option<String>,
}

#[derive(Serialize)]
struct Line {
    sku: String,
    title: String,
    quantity: u32,
    unit_cents: i64,
    taxed: bool,
}

impl Order {
    /// Returns an order whose canonical form has 1 KB.
    pub(crate) fn of_one_kilobyte() -> Self {
        let address = |name: &str| Address {
            name: name.to_owned(),
            street: "Große Elbstraße".to_owned(),
            house: 145,
            zip: "22767".to_owned(),
            city: "Hamburg".to_owned(),
            country: "DE".to_owned(),
            note: None,
        };
        let line = |number: u32| Line {
            sku: format!("SKU-{number:05}"),
            title: "A line of an order, by its title".to_owned(),
            quantity: number + 1,
            unit_cents: 1999 + i64::from(number),
            taxed: number.is_multiple_of(2),
        };
        Self {
            customer: 90_071_992_547,
            currency: "EUR".to_owned(),
            billing: address("Somebody Who Pays"),
            shipping: address("Somebody Else"),
            lines: (0..6).map(line).collect(),
            coupon: None,
            discount: 12.5,
            remark: "please ring \"twice\"\nand leave it at the door".to_owned(),
        }
    }
}
