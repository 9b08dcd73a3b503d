//! The laws of the adapter of RabbitMQ, on a real server.

mod consume;
mod publish;
mod site;
