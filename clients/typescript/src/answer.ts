/** What a response says of the request. */
export type Verdict =
  /** The effect has happened, or a recorded answer was replayed: the key has done its work. */
  | "answered"
  /** The same request with the same key should be sent again, later. */
  | "again"
  /** A refusal that another attempt would not change. The outcome of earlier attempts may still be open. */
  | "refused";

/** The statuses after which the same request may be sent again (RFC 9110, RFC 8470, RFC 6585). */
const PASSING = [408, 421, 425, 429, 502, 503, 504];

/** The statuses whose meaning depends on the code in their body. 202 is a policy of the server for `in-flight`. */
const TOLD_BY_CODE = [202, 400, 409];

/** The codes after which the same request should be sent again, with the same key. */
const AGAIN = ["in-flight", "request-unreadable"];

/** Judges a response to a request with a key. */
export async function judge(response: Response): Promise<Verdict> {
  if (TOLD_BY_CODE.includes(response.status) && AGAIN.includes(String(await code(response)))) {
    return "again";
  }
  if (response.ok || response.headers.get("idempotent-replayed") === "true") {
    return "answered";
  }
  return PASSING.includes(response.status) ? "again" : "refused";
}

/** Returns the code of a problem (RFC 9457), or of the answer 202 to a request whose key is in flight. */
async function code(response: Response): Promise<unknown> {
  const type = response.headers.get("content-type") ?? "";
  if (!/^application\/(problem\+)?json/i.test(type)) {
    return undefined;
  }
  try {
    const body: unknown = await response.clone().json();
    if (typeof body !== "object" || body === null) {
      return undefined;
    }
    const { code, type } = body as { code?: unknown; type?: unknown };
    // A service may give the problem another `type`, and keeps its `code`.
    return code ?? (typeof type === "string" ? type.split("#").at(-1) : undefined);
  } catch {
    return undefined;
  }
}

/**
 * Returns the milliseconds that `Retry-After` asks to wait (RFC 9110, section 10.2.3: seconds, or an HTTP date), or
 * `undefined` if there is none that can be read. `now` is in milliseconds since 1970.
 */
export function retryAfter(response: Response, now: number): number | undefined {
  const value = response.headers.get("retry-after")?.trim();
  if (value === undefined || value === "") {
    return undefined;
  }
  if (/^\d+$/.test(value)) {
    return Number(value) * 1000;
  }
  // A date names its day in letters; `Date.parse` alone would read `-5` as a year.
  const date = /^[A-Za-z]{3,9},? /.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

/** The statuses of responses without a body, which `new Response` refuses to give one. */
const WITHOUT_BODY = [101, 103, 204, 205, 304];

/** Reads the response to its end, and returns one that holds its body. */
export async function whole(response: Response): Promise<Response> {
  const body = await response.arrayBuffer();
  const { status, statusText, headers, url, redirected } = response;
  const held = new Response(WITHOUT_BODY.includes(status) ? null : body, { status, statusText, headers });
  Object.defineProperties(held, { url: { value: url }, redirected: { value: redirected } });
  return held;
}
