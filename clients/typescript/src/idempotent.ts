import { judge, whole } from "./answer.js";
import { HEADER, InvalidKeyError, headerValue, newKey } from "./key.js";
import { type Operations, isSafe } from "./operations.js";
import { keepOrigin, marked } from "./redirect.js";
import { type KeyStore, settled } from "./store.js";

/** What a call may say beyond `RequestInit`. */
export interface KeyOptions {
  /** The key of this call; `false` for none. By default a marked operation gets a new one. */
  idempotencyKey?: string | false | undefined;
  /** The name of what the user wants, such as `pay:cart-17`. Until it is answered, each call of it has the same key. */
  intent?: string | undefined;
}

/** The `fetch` of the platform, or a wrapper of it. */
export type Fetch = (input: RequestInfo | URL, init?: RequestInit & KeyOptions) => Promise<Response>;

/** The options of {@link idempotentFetch}. */
export interface IdempotentOptions {
  /** Which requests get a key: `fromOpenApi(document)`, or `everyUnsafeMethod()`. */
  operations: Operations;
  /** Where the keys of intents are kept. A call with `intent` needs it. */
  store?: KeyStore | undefined;
  /** Makes a key. */
  newKey?: (() => string) | undefined;
  /** The `fetch` below; the platform's by default. */
  fetch?: Fetch | undefined;
}

/** Where `withRetry` keeps the key of a logical request between its attempts. */
export const LOGICAL = Symbol("the logical request");

/** The key of one logical request, once it is chosen. `null` if it has none. */
export interface Logical {
  key?: string | null;
}

type Init = RequestInit & KeyOptions & { [LOGICAL]?: Logical };

/**
 * Returns a `fetch` that gives each logical request on a marked operation one `Idempotency-Key`.
 *
 * A header that the caller set is kept. A key never goes with a safe method, and never to another origin.
 */
export function idempotentFetch(options: IdempotentOptions): Fetch {
  const below: Fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init));
  const send = keepOrigin(below);
  return marked(async (input, init: Init = {}) => {
    const { idempotencyKey, intent, [LOGICAL]: logical = {}, ...rest } = init;
    const request = new Request(input, rest);
    const key = (logical.key ??= await choose(options, request, idempotencyKey, intent));
    const extras = unknownTo(request, rest);
    if (key !== null) {
      request.headers.set(HEADER, headerValue(key));
    }
    if (intent === undefined || key === null) {
      return send(request, extras);
    }
    // A response that breaks off is no answer, so the key is kept until it is read.
    const response = await whole(await send(request, extras));
    if ((await judge(response)) === "answered") {
      await settled(options.store, intent, key);
    }
    return response;
  });
}

/** Returns the key of a logical request, or `null` if it gets none from here. */
async function choose(
  options: IdempotentOptions,
  request: Request,
  given: string | false | undefined,
  intent: string | undefined,
): Promise<string | null> {
  const chosen = given !== undefined || intent !== undefined;
  if (given === false || (!chosen && request.headers.has(HEADER))) {
    return null;
  }
  if (isSafe(request.method)) {
    if (chosen) {
      throw new InvalidKeyError(`${request.method} has no effect, so it takes no idempotency key`);
    }
    return null;
  }
  if (given !== undefined) {
    return given;
  }
  const fresh = options.newKey ?? newKey;
  if (intent !== undefined) {
    if (options.store === undefined) {
      throw new InvalidKeyError("a call with `intent` needs the option `store`, in which its key is kept");
    }
    return options.store.take(intent, fresh);
  }
  const mark = options.operations.mark(request.method, new URL(request.url).pathname);
  return mark === undefined ? null : fresh();
}

/** Returns the options that a `Request` does not hold, such as undici's `dispatcher`. */
export function unknownTo(request: Request, init: object): object {
  const entries = Object.entries(init).filter(([name]) => !(name in request) && name !== "window");
  return Object.fromEntries(entries);
}
