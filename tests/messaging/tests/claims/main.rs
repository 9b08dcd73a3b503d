//! What a claim, an append and an idle relay cost, counted at the database.

mod another_session;
mod append;
mod heard;
mod open;
mod pages;
mod session;
#[path = "../subject/mod.rs"]
mod subject;
mod table;
mod versions;
mod whole;
