//! A reader of callgrind's profile.

/// Counts the instructions that were executed inside the calls of a function, its own and its
/// callees'. The function must not be recursive.
///
/// In the format, a call consists of a line `cfn=` with the function's name, a line that begins
/// with `calls=`, and a line whose last number is the inclusive cost.
pub(crate) fn instructions_inside(profile: &str, function: &str) -> Option<u64> {
    let mut lines = profile.lines();
    let mut sum = None;
    while let Some(line) = lines.next() {
        if line.strip_prefix("cfn=") != Some(function) {
            continue;
        }
        let cost = lines
            .by_ref()
            .skip_while(|line| !line.starts_with("calls="))
            .nth(1)?;
        let cost: u64 = cost.split(' ').next_back()?.parse().ok()?;
        sum = Some(sum.unwrap_or(0) + cost);
    }
    sum
}

#[test]
fn calls_from_everywhere_are_added_up_and_other_functions_left_out() {
    let profile = "fn=a\n0 5\ncfi=x\ncfn=m::hash\ncalls=2 0\n0 100\n\
                   cfn=m::hash_of\ncalls=1 0\n0 7\n\nfn=b\ncfn=m::hash\ncalls=1 3\n+4 20\n";
    assert_eq!(instructions_inside(profile, "m::hash"), Some(120));
    assert_eq!(instructions_inside(profile, "m::none"), None);
}
