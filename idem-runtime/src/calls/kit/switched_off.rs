//! The switch that turns idempotency off for a part of a test. It is there with the feature `testing` only, and only
//! [`without_idempotency`] turns it: no environment, no setting of a process.

#[cfg(feature = "testing")]
tokio::task_local! {
    static OFF: ();
}

/// Runs a future whose calls are not idempotent: a handler's body runs each time, as if the call had no key.
///
/// An atomic call reads and writes no record, and needs no table of records. A leased call, which cannot do without a claim,
/// gets a key of its own. It holds for the calls that the future itself makes, and not for those of tasks that it spawns.
#[cfg(feature = "testing")]
pub async fn without_idempotency<F: Future>(calls: F) -> F::Output {
    OFF.scope((), calls).await
}

/// Whether idempotency is off for a call. Without the feature it takes no place, and is always on.
#[derive(Clone, Copy)]
pub(crate) struct Switch {
    #[cfg(feature = "testing")]
    is_off: bool,
}

#[cfg(feature = "testing")]
impl Switch {
    /// Returns the switch as it is for the calls of this moment.
    pub(crate) fn of_this_call() -> Self {
        let is_off = OFF.try_with(|()| ()).is_ok();
        Self { is_off }
    }

    pub(crate) const fn is_off(self) -> bool {
        self.is_off
    }
}

#[cfg(not(feature = "testing"))]
impl Switch {
    /// Returns the switch: there is nothing that could have turned it.
    pub(crate) const fn of_this_call() -> Self {
        Self {}
    }

    #[expect(clippy::unused_self, reason = "as with the feature")]
    pub(crate) const fn is_off(self) -> bool {
        false
    }
}

// In every build without the feature, not in tests alone.
#[cfg(not(feature = "testing"))]
const _: () = assert!(!Switch::of_this_call().is_off() && size_of::<Switch>() == 0);

#[cfg(test)]
mod tests {
    use super::Switch;

    #[test]
    fn nothing_is_off_by_itself() {
        assert!(!Switch::of_this_call().is_off());
    }

    #[cfg(feature = "testing")]
    #[tokio::test]
    async fn it_is_off_inside_and_on_outside_and_in_other_tasks() {
        let inside = super::without_idempotency(async {
            let other = tokio::spawn(async { Switch::of_this_call().is_off() });
            (
                Switch::of_this_call().is_off(),
                other.await.expect("no panic"),
            )
        });
        assert_eq!(inside.await, (true, false));
        assert!(!Switch::of_this_call().is_off());
    }
}
