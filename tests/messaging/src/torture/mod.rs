//! Handlers with an outbox, relays, NATS JetStream and consumers, while a nemesis disturbs all of them. A checker then
//! reads the tables and the broker's stream.
//!
//! - [`calls`]: the calls, chosen by the seed. - [`fact`]: what an event says.
//! - [`desk`]: the annotated handlers of callers and consumers. - [`statements`]: their SQL.
//! - [`errand`]: the task of a process: it is a [`caller`], a [`relay`] or a [`consumer`]. - [`planted`]: the faults in
//!   relays on purpose.
//! - [`nemesis`]: the faults. - [`broker`]: the NATS server. - [`engine`]: one file for each database.
//! - [`arena`]: a whole run. - [`evidence`]: what remains of it. - [`laws`]: the laws that must hold for that.
//!   [`report`]: the output.
//!
//! Processes, links and the order of the faults are those of [`idem_tests::torture`]. The seed determines what every
//! caller asks for, and which fault follows after how many answers. The machine's timing determines what a fault
//! disturbs.

pub mod arena;
pub mod broker;
pub mod caller;
pub mod calls;
pub mod consumer;
pub mod desk;
pub mod engine;
pub mod errand;
pub mod evidence;
pub mod fact;
pub mod laws;
pub mod nemesis;
pub mod planted;
pub mod relay;
pub mod report;
pub mod statements;
