//! A recorder for the tests, whose text a Prometheus server would scrape.

#[cfg(doctest)]
#[doc = include_str!("../../../docs/metrics.md")]
mod page {}

use metrics_exporter_prometheus::{
    Matcher, PrometheusBuilder, PrometheusHandle, PrometheusRecorder,
};

/// A recorder and what was recorded.
pub struct Recorded {
    recorder: PrometheusRecorder,
    handle: PrometheusHandle,
}

impl Recorded {
    /// Creates a recorder that names metrics as the documentation recommends.
    ///
    /// # Panics
    /// Panics if the exporter refuses its options.
    pub fn new(buckets: &[f64]) -> Self {
        let builder = PrometheusBuilder::new().with_recommended_naming(true);
        let latency = Matcher::Suffix("latency".to_owned());
        let builder = builder.set_buckets_for_metric(latency, buckets);
        let recorder = builder.expect("buckets").build_recorder();
        let handle = recorder.handle();
        Self { recorder, handle }
    }

    /// Returns the recorder.
    pub fn recorder(&self) -> &PrometheusRecorder {
        &self.recorder
    }

    /// Returns what a server would scrape now.
    pub fn text(&self) -> String {
        self.handle.render()
    }

    /// Returns the sum of the samples of this name that have these labels; zero if there are none.
    ///
    /// # Panics
    /// Panics if a value is no number.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let text = self.text();
        let samples = text.lines().filter_map(|line| {
            let (sample, value) = line.rsplit_once(' ')?;
            let (found, rest) = sample.split_once('{').unwrap_or((sample, ""));
            let is_meant = found == name
                && labels
                    .iter()
                    .all(|(label, value)| rest.contains(&format!("{label}=\"{value}\"")));
            is_meant.then(|| value.parse::<f64>().expect("a number"))
        });
        samples.sum()
    }

    /// Asserts that a counter or a gauge has this value.
    ///
    /// # Panics
    /// Panics if it has another.
    #[track_caller]
    pub fn expect(&self, name: &str, labels: &[(&str, &str)], value: u32) {
        let found = self.sum(name, labels);
        assert!(
            (found - f64::from(value)).abs() < 1e-9,
            "{name} {labels:?} is {found}, not {value}:\n{}",
            self.text()
        );
    }
}
