//! Tables that are not fit to arbitrate: each is refused before anything runs.

mod beside;
mod mysql;
mod postgres;
mod sqlite;
