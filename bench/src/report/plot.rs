//! A line plot as SVG text.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use crate::numbers::float;

/// Lines over a few named positions, which are evenly spaced whatever their values.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Plot {
    pub(crate) file: String,
    pub(crate) title: String,
    pub(crate) x: String,
    pub(crate) y: String,
    pub(crate) places: Vec<String>,
    pub(crate) lines: Vec<(String, Vec<f64>)>,
    /// Where the vertical axis begins.
    pub(crate) from: f64,
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 400.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 500.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 345.0;
/// Colours that colour-blind readers can tell apart.
const COLOURS: [&str; 8] = [
    "#000000", "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999",
];

impl Plot {
    pub(crate) fn svg(&self) -> String {
        let step = step(self.top() - self.from);
        let top = self.from + ((self.top() - self.from) / step).ceil().max(1.0) * step;
        let height = |value: f64| BOTTOM - (value - self.from) / (top - self.from) * (BOTTOM - TOP);
        let gaps = float(self.places.len().max(2) - 1);
        let x_of = |index: usize| LEFT + 25.0 + float(index) / gaps * (RIGHT - LEFT - 50.0);

        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\">\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"white\"/>\n"
        );
        text(&mut svg, 20.0, 26.0, "start", &self.title);
        let mut value = self.from;
        while value <= top + step / 2.0 {
            let y = height(value);
            // Cannot fail: writing to a `String` always succeeds.
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT:.1} {y:.1}H{RIGHT:.1}\" stroke=\"#dddddd\"/>"
            );
            text(&mut svg, LEFT - 8.0, y + 4.0, "end", &label(value, step));
            value += step;
        }
        for (index, name) in self.places.iter().enumerate() {
            text(&mut svg, x_of(index), BOTTOM + 20.0, "middle", name);
        }
        text(
            &mut svg,
            f64::midpoint(LEFT, RIGHT),
            BOTTOM + 44.0,
            "middle",
            &self.x,
        );
        text(&mut svg, 20.0, TOP - 16.0, "start", &self.y);
        for (index, (name, values)) in self.lines.iter().enumerate() {
            let colour = COLOURS[index % COLOURS.len()];
            let points: Vec<_> = values
                .iter()
                .enumerate()
                .filter(|(_, value)| value.is_finite())
                .map(|(index, value)| (x_of(index), height(*value)))
                .collect();
            let path: Vec<_> = points
                .iter()
                .map(|(x, y)| format!("{x:.1},{y:.1}"))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                path.join(" ")
            );
            for (x, y) in points {
                let _ = writeln!(
                    svg,
                    "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>"
                );
            }
            let y = TOP + 12.0 + 22.0 * float(index);
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {y:.1}h18\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                RIGHT + 12.0
            );
            text(&mut svg, RIGHT + 36.0, y + 4.0, "start", name);
        }
        svg.push_str("</svg>\n");
        svg
    }

    fn top(&self) -> f64 {
        let values = self.lines.iter().flat_map(|(_, values)| values);
        values
            .copied()
            .filter(|value| value.is_finite())
            .fold(self.from + 0.1, f64::max)
    }
}

/// Returns the distance of grid lines: 1, 2 or 5 times a power of ten, for about five lines.
fn step(span: f64) -> f64 {
    let rough = span / 5.0;
    let power = 10_f64.powf(rough.log10().floor());
    let factor = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|factor| factor * power >= rough)
        .unwrap_or(10.0);
    factor * power
}

fn label(value: f64, step: f64) -> String {
    if step >= 1.0 {
        format!("{value:.0}")
    } else if step >= 0.1 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

fn text(svg: &mut String, x: f64, y: f64, anchor: &str, words: &str) {
    let words = words.replace('&', "&amp;").replace('<', "&lt;");
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{words}</text>"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_stands_between_the_lines_across_and_words_are_escaped() {
        let plot = Plot {
            file: "x.svg".into(),
            title: "a < b".into(),
            x: "x".into(),
            y: "y".into(),
            places: vec!["0".into(), "1".into()],
            lines: vec![("line".into(), vec![1.0, 2.0])],
            from: 1.0,
        };
        let svg = plot.svg();
        // The lowest value is on the lowest grid line, the highest on the highest.
        assert!(svg.contains("points=\"95.0,345.0 475.0,70.0\""), "{svg}");
        assert!(svg.contains("a &lt; b") && !svg.contains("a < b"));
    }

    #[test]
    fn lines_across_have_round_distances() {
        let steps = [0.1, 1.0, 3.0, 7.0, 4000.0].map(step);
        for (found, expected) in steps.into_iter().zip([0.02, 0.2, 1.0, 2.0, 1000.0]) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
    }
}
