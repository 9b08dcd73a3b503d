//! Random numbers for the order of the cases, and statistics of their times.

use std::time::Duration;

/// A small random generator (splitmix64). The same seed gives the same order.
#[derive(Debug, Clone)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `bound`. Its bias is too small to matter here.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        let found = self.next() % u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(found).unwrap_or_default()
    }

    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for index in (1..items.len()).rev() {
            items.swap(index, self.below(index + 1));
        }
    }

    /// Returns `0..count` in a random order.
    pub(crate) fn order(&mut self, count: usize) -> Vec<usize> {
        let mut order: Vec<_> = (0..count).collect();
        self.shuffle(&mut order);
        order
    }
}

/// The measurements of one case.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sample(Vec<f64>);

impl Sample {
    pub(crate) fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// Adds a time, in microseconds.
    pub(crate) fn push_time(&mut self, time: Duration) {
        self.push(time.as_secs_f64() * 1e6);
    }

    pub(crate) fn append(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn mean(&self) -> f64 {
        self.0.iter().sum::<f64>() / float(self.0.len())
    }

    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// Returns the value below which this part of the sample lies, or NaN if the sample is empty.
    pub(crate) fn quantile(&self, part: f64) -> f64 {
        quantile(&mut self.0.clone(), part)
    }

    /// Returns the 95% interval of the ratio of the medians, by resampling both.
    pub(crate) fn ratio_within(&self, plain: &Self, chance: &mut Chance) -> (f64, f64) {
        const RESAMPLES: usize = 400;
        let mut median_of = |sample: &[f64]| {
            let mut drawn: Vec<_> = (0..sample.len())
                .map(|_| sample[chance.below(sample.len())])
                .collect();
            quantile(&mut drawn, 0.5)
        };
        let mut ratios: Vec<_> = (0..RESAMPLES)
            .map(|_| median_of(&self.0) / median_of(&plain.0))
            .collect();
        (quantile(&mut ratios, 0.025), quantile(&mut ratios, 0.975))
    }
}

fn quantile(values: &mut [f64], part: f64) -> f64 {
    values.sort_unstable_by(f64::total_cmp);
    let last = values.len().saturating_sub(1);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a fraction of a length, and not negative"
    )]
    let position = (float(last) * part).round() as usize;
    values.get(position).copied().unwrap_or(f64::NAN)
}

/// Converts a count for calculations.
#[expect(clippy::cast_precision_loss, reason = "counts here are far below 2^52")]
pub(crate) fn float(count: usize) -> f64 {
    count as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_value_in_the_middle_whatever_the_order() {
        let mut sample = Sample::default();
        for value in [5.0, 1.0, 100.0, 3.0, 4.0] {
            sample.push(value);
        }
        assert!((sample.median() - 4.0).abs() < f64::EPSILON);
        assert!((sample.quantile(1.0) - 100.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_fresh_order_has_each_case_once() {
        let mut chance = Chance::new(7);
        let orders: Vec<_> = (0..20).map(|_| chance.order(9)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..9).collect::<Vec<_>>());
        }
        assert!(orders.iter().any(|order| *order != orders[0]));
    }

    #[test]
    fn the_interval_of_a_ratio_holds_the_ratio_of_the_medians() {
        let (mut plain, mut twice) = (Sample::default(), Sample::default());
        for step in 0..100 {
            plain.push(100.0 + f64::from(step % 7));
            twice.push(200.0 + f64::from(step % 11));
        }
        let (low, high) = twice.ratio_within(&plain, &mut Chance::new(1));
        let ratio = twice.median() / plain.median();
        assert!(low <= ratio && ratio <= high, "{low} {ratio} {high}");
    }
}
