//! Nothing: the tests of the HTTP edge stand in `tests/`, apart from those that need no web server.
