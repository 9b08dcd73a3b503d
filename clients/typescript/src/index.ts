/**
 * Keeps the `Idempotency-Key` of an intent across attempts, reloads and restarts.
 *
 * @packageDocumentation
 */
export { type Verdict, judge, retryAfter } from "./answer.js";
export { type Clock, systemClock } from "./clock.js";
export { type Fetch, type IdempotentOptions, type KeyOptions, idempotentFetch } from "./idempotent.js";
export { HEADER, InvalidKeyError, MAX_KEY_LENGTH, headerValue, newKey } from "./key.js";
export { type Mark, type OpenApiDocument, type Operations, everyUnsafeMethod, fromOpenApi } from "./operations.js";
export { RedirectRefusedError } from "./redirect.js";
export { type RetryOptions } from "./budget.js";
export { UnansweredError, withRetry } from "./retry.js";
export { type KeyStore, type WebStorage, memoryStore, webStorage } from "./store.js";
