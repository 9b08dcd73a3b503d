//! The calls, named for callgrind.

use idem_tests_counting::{Stretch, stretches};

/// The calls of one transport.
pub(crate) struct Calls {
    /// The framework alone.
    pub(crate) bare: Stretch,
    /// With the edge, and the result of a first run.
    pub(crate) first: Stretch,
    /// With the edge, and a replay.
    pub(crate) replay: Stretch,
    /// With the edge, and the refusal of a mismatch.
    pub(crate) refusal: Stretch,
}

stretches! {
    WARMING = warming,
    AXUM_BARE = axum_bare,
    AXUM_FIRST = axum_first,
    AXUM_REPLAY = axum_replay,
    AXUM_REFUSAL = axum_refusal,
    TOWER_BARE = tower_bare,
    TOWER_FIRST = tower_first,
    TOWER_REPLAY = tower_replay,
    TOWER_REFUSAL = tower_refusal,
    ACTIX_BARE = actix_bare,
    ACTIX_FIRST = actix_first,
    ACTIX_REPLAY = actix_replay,
    ACTIX_REFUSAL = actix_refusal,
    JSONRPC_BARE = jsonrpc_bare,
    JSONRPC_FIRST = jsonrpc_first,
    JSONRPC_REPLAY = jsonrpc_replay,
    JSONRPC_REFUSAL = jsonrpc_refusal,
    GRPC_BARE = grpc_bare,
    GRPC_FIRST = grpc_first,
    GRPC_REPLAY = grpc_replay,
    GRPC_REFUSAL = grpc_refusal,
    MCP_BARE = mcp_bare,
    MCP_FIRST = mcp_first,
    MCP_REPLAY = mcp_replay,
    MCP_REFUSAL = mcp_refusal,
}

pub(crate) const AXUM: Calls = Calls {
    bare: AXUM_BARE,
    first: AXUM_FIRST,
    replay: AXUM_REPLAY,
    refusal: AXUM_REFUSAL,
};

pub(crate) const TOWER: Calls = Calls {
    bare: TOWER_BARE,
    first: TOWER_FIRST,
    replay: TOWER_REPLAY,
    refusal: TOWER_REFUSAL,
};

pub(crate) const ACTIX: Calls = Calls {
    bare: ACTIX_BARE,
    first: ACTIX_FIRST,
    replay: ACTIX_REPLAY,
    refusal: ACTIX_REFUSAL,
};

pub(crate) const JSONRPC: Calls = Calls {
    bare: JSONRPC_BARE,
    first: JSONRPC_FIRST,
    replay: JSONRPC_REPLAY,
    refusal: JSONRPC_REFUSAL,
};

pub(crate) const GRPC: Calls = Calls {
    bare: GRPC_BARE,
    first: GRPC_FIRST,
    replay: GRPC_REPLAY,
    refusal: GRPC_REFUSAL,
};

pub(crate) const MCP: Calls = Calls {
    bare: MCP_BARE,
    first: MCP_FIRST,
    replay: MCP_REPLAY,
    refusal: MCP_REFUSAL,
};
