//! The laws of idem-messaging, on real databases and brokers.
