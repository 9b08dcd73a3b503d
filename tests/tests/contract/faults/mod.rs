//! Tables that cannot enforce one record per key: each is refused before a body runs.

mod beside;
mod leased;
mod mysql;
mod postgres;
mod sqlite;
