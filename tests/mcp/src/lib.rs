//! Nothing: the tests of the MCP edge stand in `tests/`, apart from those that need no rmcp.
