//! What a claim, an append and an idle relay cost, counted at the database.

mod heard;
mod pages;
mod session;
#[path = "../subject/mod.rs"]
mod subject;
mod table;
