#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod answer;
mod authorise;
mod changes;
mod console;
mod fault;
mod fields;
mod guard;
mod pages;
mod site;

pub use self::authorise::{Authoriser, Principal, Refused};
pub use self::console::{Console, ConsoleDatabase, ConsoleError};
