import { LOGICAL, type Logical } from "../idempotent.js";
import { InvalidKeyError, memberValue, newKey } from "../key.js";
import { type KeyStore, settled } from "../store.js";
import { RpcError, TransportError, fields, judge, passes } from "./answer.js";

/** How a method takes its key. */
export type MethodMark =
  /** In the member `member` of `params._meta`. */
  | { readonly key: "required" | "optional"; readonly member: string }
  /** In its parameters: the same arguments have the same key. */
  | { readonly key: "in-request" };

/** The methods that are idempotent, by name. */
export type Methods = Readonly<Record<string, MethodMark>>;

/** What a call of a method without a key may say. */
export interface QueryOptions {
  /** Ends the call. Its outcome is then unknown. */
  signal?: AbortSignal | undefined;
}

/** What a call of a method with a key may say. */
export interface CallOptions extends QueryOptions {
  /** The key of this call; `false` for none. By default it gets a new one. */
  idempotencyKey?: string | false | undefined;
  /** The name of what the user wants, such as `pay:cart-17`. Until it is answered, each call of it has the same key. */
  intent?: string | undefined;
}

/** Calls a method by its name. It rejects with an {@link RpcError} if the service answers an error object. */
export interface Caller {
  (method: string, params?: object, options?: CallOptions): Promise<unknown>;
  /** Which methods are idempotent. */
  readonly methods: Methods;
}

/** The options of {@link caller}. */
export interface CallerOptions {
  /** Where the service is. */
  url: string | URL;
  /** Which methods are idempotent: the generated `methods`. */
  methods: Methods;
  /** Headers of each request, such as `authorization`. */
  headers?: (() => HeadersInit | Promise<HeadersInit>) | undefined;
  /** Where the keys of intents are kept. A call with `intent` needs it. */
  store?: KeyStore | undefined;
  /** Makes a key. */
  newKey?: (() => string) | undefined;
  /** The `fetch` below; the platform's by default. */
  fetch?: typeof fetch | undefined;
}

/** What `withRetry` passes from attempt to attempt. */
export type Attempted = CallOptions & { [LOGICAL]?: Logical };

/**
 * Returns what calls the methods of a service, one in each request, and gives exactly the marked ones a key.
 *
 * No redirect is followed: a key would go with it.
 */
export function caller(options: CallerOptions): Caller {
  let last = 0;
  const call = async (method: string, params?: object, given: Attempted = {}) => {
    const { intent, signal, [LOGICAL]: logical = {} } = given;
    const key = (logical.key ??= await choose(options, method, given));
    last += 1;
    const message = { jsonrpc: "2.0", id: last, method, params: key === null ? params : keyed(options, method, params, key) };
    try {
      const result = await send(options, message, signal);
      await settle(options, intent, key);
      return result;
    } catch (error) {
      if (judge(error) === "answered") {
        await settle(options, intent, key);
      }
      throw error;
    }
  };
  return Object.assign(call, { methods: options.methods });
}

/** Returns the key of a logical call, or `null` if it gets none. */
async function choose(options: CallerOptions, method: string, given: CallOptions): Promise<string | null> {
  const { idempotencyKey, intent } = given;
  if (idempotencyKey === false) {
    return null;
  }
  if (!takesKey(options.methods, method)) {
    if (idempotencyKey !== undefined || intent !== undefined) {
      throw new InvalidKeyError(`${method} takes no idempotency key`);
    }
    return null;
  }
  if (idempotencyKey !== undefined) {
    return memberValue(idempotencyKey);
  }
  const fresh = options.newKey ?? newKey;
  if (intent === undefined) {
    return memberValue(fresh());
  }
  if (options.store === undefined) {
    throw new InvalidKeyError("a call with `intent` needs the option `store`, in which its key is kept");
  }
  return memberValue(await options.store.take(intent, fresh));
}

function markOf(methods: Methods, method: string): MethodMark | undefined {
  return Object.hasOwn(methods, method) ? methods[method] : undefined;
}

function takesKey(methods: Methods, method: string): boolean {
  const mark = markOf(methods, method);
  return mark !== undefined && mark.key !== "in-request";
}

/** Returns whether the same call may be sent again, with this key or without one. */
export function isRepeatable(methods: Methods, method: string, key: string | null): boolean {
  return key !== null || markOf(methods, method)?.key === "in-request";
}

/** Returns the parameters with the key in their `_meta`. */
function keyed(options: CallerOptions, method: string, params: object | undefined, key: string): object {
  const mark = markOf(options.methods, method);
  if (Array.isArray(params) || mark === undefined || mark.key === "in-request") {
    throw new InvalidKeyError(`the parameters of ${method} have no place for an idempotency key`);
  }
  const meta = fields(fields(params)["_meta"]);
  return { ...params, _meta: { ...meta, [mark.member]: key } };
}

async function settle(options: CallerOptions, intent: string | undefined, key: string | null): Promise<void> {
  if (intent !== undefined && key !== null) {
    await settled(options.store, intent, key);
  }
}

async function send(options: CallerOptions, message: { id: number }, signal: AbortSignal | undefined): Promise<unknown> {
  const headers = new Headers(await options.headers?.());
  headers.set("content-type", "application/json");
  const below = options.fetch ?? globalThis.fetch;
  const init: RequestInit = { method: "POST", headers, body: JSON.stringify(message), redirect: "error" };
  const response = await below(options.url, signal === undefined ? init : { ...init, signal });
  // A response that breaks off is no answer.
  const text = await response.text();
  const answer = fields(parsed(text));
  const error = fields(answer["error"]);
  const isOfCall = answer["id"] === message.id || answer["id"] === null;
  // With a status that passes, a gateway speaks, whatever form it gives its page.
  if (typeof error["code"] === "number" && isOfCall && !passes(response.status)) {
    throw new RpcError(String(error["message"]), error["code"], error["data"]);
  }
  if (!response.ok || answer["id"] !== message.id || !("result" in answer)) {
    throw new TransportError(`the service answered ${response.status}, and no result of this call`, response.status);
  }
  return answer["result"];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
