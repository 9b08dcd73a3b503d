import { HEADER, InvalidKeyError, headerValue, newKey } from "./key.js";
import { keepsOrigin } from "./redirect.js";
import { type OpenApiDocument, fromOpenApi, isSafe } from "./operations.js";

declare global {
  interface RequestInit {
    /** The key of this call; `false` for none. */
    idempotencyKey?: string | false | undefined;
  }
}

/** What openapi-fetch passes to a middleware. */
export interface MiddlewareCall {
  request: Request;
  /** The path as the document has it: `/orders/{id}`. */
  schemaPath: string;
  options: { fetch: unknown };
}

/** A middleware of openapi-fetch. */
export interface KeyMiddleware {
  onRequest(call: MiddlewareCall): Request | undefined;
}

/**
 * Returns a middleware of openapi-fetch that gives each call on a marked operation one key. It runs once for each call,
 * so the attempts of `createClient({ fetch: withRetry(fetch) })` share the key. Over any other `fetch` than a wrapper of this
 * package, a redirect of a request with a key is a network error.
 *
 * A call says `{ idempotencyKey: "k" }` or `{ idempotencyKey: false }`. If it asks for a key on a safe method, it
 * rejects with an InvalidKeyError.
 */
export function idempotencyMiddleware(document: OpenApiDocument, options: { newKey?: () => string } = {}): KeyMiddleware {
  const operations = fromOpenApi(document);
  return {
    onRequest({ request, schemaPath, options: { fetch } }) {
      // openapi-fetch puts the options that `Request` does not know on the request itself.
      const given = (request as Request & { idempotencyKey?: string | false }).idempotencyKey;
      if (given === false || (given === undefined && request.headers.has(HEADER))) {
        return undefined;
      }
      if (given !== undefined && isSafe(request.method)) {
        throw new InvalidKeyError(`${request.method} has no effect, so it takes no idempotency key`);
      }
      if (given === undefined && operations.markOfTemplate(request.method, schemaPath) === undefined) {
        return undefined;
      }
      request.headers.set(HEADER, headerValue(given ?? (options.newKey ?? newKey)()));
      // `fetch` by itself would follow a redirect to another origin with the key.
      return keepsOrigin(fetch) ? request : new Request(request, { redirect: "error" });
    },
  };
}
