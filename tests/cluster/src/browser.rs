//! The browser of the tests of pages.

use std::path::Path;
use std::process::Command;

/// Returns Chromium without a window, with a profile of its own. It asks nobody for updates.
pub fn command(profile: &Path) -> Command {
    let mut command = Command::new("chromium");
    command
        .args(["--headless", "--no-sandbox", "--disable-gpu"])
        .args(["--no-first-run", "--disable-background-networking"])
        .args(["--disable-component-update", "--disable-sync"])
        .arg(format!("--user-data-dir={}", profile.display()));
    command
}
