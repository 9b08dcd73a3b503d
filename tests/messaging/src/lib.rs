//! The laws of idem-messaging, on real databases and brokers.
//!
//! - [`brokers`] has a NATS server and a RabbitMQ server: those of the run, or of this process.
//! - [`fact::Fact`] is what a message says, and [`ledger::Ledger`] a database of each kind in which it is noted.
//! - [`mailer::Mailer`] is a consumer whose outcome can be unknown, and the operator who settles it.
//! - [`torture`] runs callers, relays and consumers under a nemesis, and checks what remains.
//! - [`receiver::Receiver`] is a consumer whose handler does as its test says, and whose effects are rows.
//! - [`warnings::Warnings`] collects what the library warns of.

pub mod brokers;
pub mod fact;
pub mod ledger;
pub mod mailer;
pub mod receiver;
pub mod torture;
pub mod warnings;
