//! How long a broker may deliver again, against how long the record is kept.

use std::time::Duration;

use idem_messaging::inbox::{RedeliveryWindow, RetentionTooShort};

const HOUR: Duration = Duration::from_hours(1);
const SECOND: Duration = Duration::from_secs(1);

#[test]
fn the_window_of_nats_ends_with_the_age_or_with_the_deliveries() {
    let window = RedeliveryWindow::nats;
    let bounded = RedeliveryWindow::Bounded;
    assert_eq!(
        window(None, None, SECOND, &[], SECOND),
        RedeliveryWindow::Unlimited
    );
    assert_eq!(window(Some(HOUR), None, SECOND, &[], SECOND), bounded(HOUR));
    let ten = window(Some(HOUR), Some(10), SECOND, &[], Duration::ZERO);
    assert_eq!(ten, bounded(10 * SECOND));
    let listed = window(None, Some(5), HOUR, &[SECOND, 10 * SECOND], Duration::ZERO);
    assert_eq!(listed, bounded(41 * SECOND));
    let with_naks = window(None, Some(5), SECOND, &[], HOUR);
    assert_eq!(with_naks, bounded(5 * SECOND + 5 * HOUR));
    let more_steps_than_deliveries = window(None, Some(1), HOUR, &[SECOND, HOUR], Duration::ZERO);
    assert_eq!(more_steps_than_deliveries, bounded(SECOND));
    let huge = window(None, Some(u32::MAX), Duration::MAX, &[], SECOND);
    assert_eq!(huge, bounded(Duration::MAX));
}

#[test]
fn a_window_longer_than_the_retention_is_told_and_one_without_end_has_its_own_text() {
    assert!(
        RedeliveryWindow::Bounded(HOUR)
            .check("notifier", HOUR)
            .is_ok()
    );
    let longer = RedeliveryWindow::Bounded(2 * HOUR).check("notifier", HOUR);
    assert!(matches!(longer, Err(RetentionTooShort::Bounded { .. })));
    let endless = RedeliveryWindow::Unlimited.check("notifier", HOUR);
    let text = endless.expect_err("it has no end").to_string();
    assert!(
        text.contains("without an end") && text.contains("`max_age`"),
        "{text}"
    );
}
