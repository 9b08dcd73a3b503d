/**
 * Calls methods of a JSON-RPC 2.0 service, with one idempotency key for each intent. What `idem client typescript` generates
 * is made of it.
 *
 * @packageDocumentation
 */
export { type CallOptions, type Caller, type CallerOptions, type MethodMark, type Methods, type QueryOptions, caller } from "./caller.js";
export { RpcError, TransportError, isReplay } from "./answer.js";
export { withRetry } from "./retry.js";
