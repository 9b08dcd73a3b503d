//! idem in a program whose `serde_json` keeps the order of members and the text of numbers; see
//! `tests`.
