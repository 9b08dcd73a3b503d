//! The feature sets with which a crate must compile.

use crate::Outcome;
use crate::cargo::metadata;

/// The features that most others meet.
const DATABASES: [&str; 3] = ["postgres", "mysql", "sqlite"];

/// Which pairs of features are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pairs {
    /// Those of which one is a database, and in a crate that has none, all: what a feature adds is code over databases.
    WithDatabase,
    All,
}

/// Returns no feature, each feature alone, and these pairs, as arguments of `--features`.
///
/// Larger sets are not checked: their number grows too fast, and no fault that needs three features
/// is known.
pub(crate) fn sets(package: &str, pairs: Pairs) -> Outcome<Vec<String>> {
    Ok(up_to_pairs(&of(package)?, pairs))
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

fn up_to_pairs(features: &[String], pairs: Pairs) -> Vec<String> {
    let is_database = |name: &String| DATABASES.contains(&name.as_str());
    let all = pairs == Pairs::All || !features.iter().any(is_database);
    let mut sets = vec![String::new()];
    sets.extend_from_slice(features);
    for (index, one) in features.iter().enumerate() {
        let others = features[index + 1..].iter();
        let others = others.filter(|other| all || is_database(one) || is_database(other));
        sets.extend(others.map(|other| format!("{one},{other}")));
    }
    sets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sets(features: [&str; 3], pairs: Pairs) -> Vec<String> {
        up_to_pairs(&features.map(str::to_owned), pairs)
    }

    #[test]
    fn every_feature_is_alone_once_and_beside_every_other_once() {
        let all = ["", "a", "b", "c", "a,b", "a,c", "b,c"];
        assert_eq!(sets(["a", "b", "c"], Pairs::All), all);
        assert_eq!(sets(["a", "b", "c"], Pairs::WithDatabase), all);
    }

    #[test]
    fn a_feature_is_beside_every_database() {
        assert_eq!(
            sets(["a", "b", "mysql"], Pairs::WithDatabase),
            ["", "a", "b", "mysql", "a,mysql", "b,mysql"]
        );
    }
}
