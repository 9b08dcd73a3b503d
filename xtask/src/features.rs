//! The feature sets with which a crate must compile.

use crate::Outcome;
use crate::cargo::metadata;

/// Returns no feature, each feature alone, and each pair, as arguments of `--features`.
///
/// Larger sets are not checked: their number grows too fast, and no fault that needs three features
/// is known.
pub(crate) fn sets(package: &str) -> Outcome<Vec<String>> {
    Ok(up_to_pairs(&of(package)?))
}

fn of(package: &str) -> Outcome<Vec<String>> {
    let metadata = metadata()?;
    let features = metadata["packages"]
        .as_array()
        .and_then(|packages| packages.iter().find(|found| found["name"] == package))
        .and_then(|found| found["features"].as_object())
        .ok_or_else(|| format!("cargo metadata knows no package {package}"))?;
    Ok(features
        .keys()
        .filter(|name| *name != "default")
        .cloned()
        .collect())
}

fn up_to_pairs(features: &[String]) -> Vec<String> {
    let mut sets = vec![String::new()];
    sets.extend_from_slice(features);
    for (index, one) in features.iter().enumerate() {
        sets.extend(
            features[index + 1..]
                .iter()
                .map(|other| format!("{one},{other}")),
        );
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::up_to_pairs;

    #[test]
    fn every_feature_is_alone_once_and_beside_every_other_once() {
        let features = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(
            up_to_pairs(&features),
            ["", "a", "b", "c", "a,b", "a,c", "b,c"]
        );
    }
}
