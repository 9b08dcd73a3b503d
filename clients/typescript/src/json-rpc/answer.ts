import type { Verdict } from "../answer.js";

/** An error object that the service answered. */
export class RpcError extends Error {
  override readonly name = "RpcError";

  constructor(
    message: string,
    /** The code of the error object. */
    readonly code: number,
    /** Its data: of a refusal of the library, the problem (RFC 9457) with its `code`, and `retry_after` in seconds. */
    readonly data: unknown,
  ) {
    super(message);
  }
}

/** The service answered, and not in JSON-RPC: a gateway's page, for example. The outcome is unknown. */
export class TransportError extends Error {
  override readonly name = "TransportError";

  constructor(
    message: string,
    /** The status of the response. */
    readonly status: number,
  ) {
    super(message);
  }
}

/** The codes of refusals after which the same call should be sent again, with the same key. */
const AGAIN = ["in-flight", "try-again", "unavailable"];

/** The statuses of a gateway after which the same request may be sent again (RFC 9110, RFC 8470, RFC 6585). */
const PASSING = [408, 421, 425, 429, 502, 503, 504];

/** Returns whether the status is one after which the same request may be sent again. */
export function passes(status: number): boolean {
  return PASSING.includes(status);
}

/** Judges why a call with a key has no result. */
export function judge(error: unknown): Verdict {
  if (error instanceof RpcError) {
    const { code, replayed } = fields(error.data);
    if (replayed === true) {
      return "answered";
    }
    return AGAIN.includes(String(code)) ? "again" : "refused";
  }
  if (error instanceof TransportError) {
    return error.status === 200 || passes(error.status) ? "again" : "refused";
  }
  return "again";
}

/** Returns the milliseconds that a refusal asks to wait. */
export function retryAfter(error: unknown): number | undefined {
  const seconds = error instanceof RpcError ? fields(error.data)["retry_after"] : undefined;
  return typeof seconds === "number" && seconds >= 0 ? seconds * 1000 : undefined;
}

/** Returns whether a result says in its `_meta` that it is a replay. One that is no object cannot say so. */
export function isReplay(result: unknown): boolean {
  const meta = Object.entries(fields(fields(result)["_meta"]));
  return meta.some(([name, value]) => name.endsWith("/idempotentReplayed") && value === true);
}

export function fields(value: unknown): Record<string, unknown> {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
}
