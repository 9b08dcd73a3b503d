import type { Fetch } from "./idempotent.js";
import { HEADER } from "./key.js";
import { replayable } from "./replayable.js";

/** A redirect that was not followed, because the key would have gone with it. The outcome is unknown. */
export class RedirectRefusedError extends Error {
  override readonly name = "RedirectRefusedError";
}

/** The most redirects that are followed, as in the Fetch standard. */
const LIMIT = 20;

/** Names the wrappers that keep the key at its origin. */
const KEEPS_ORIGIN = Symbol("keeps the key at its origin");

/** Marks a wrapper that keeps the key at its origin. */
export function marked(fetch: Fetch): Fetch {
  return Object.assign(fetch, { [KEEPS_ORIGIN]: true });
}

/** Returns whether this is a wrapper that keeps the key at its origin. */
export function keepsOrigin(fetch: unknown): boolean {
  return typeof fetch === "function" && KEEPS_ORIGIN in fetch;
}

/** Returns a `fetch` that sends a request with a key so that it stays at its origin, and any other as it is. */
export function keepOrigin(fetch: Fetch): Fetch {
  return async (input, init = {}) => {
    const request = new Request(input);
    return request.headers.has(HEADER) ? sendWithoutLeak(fetch, request, init) : fetch(request, init);
  };
}

/**
 * Sends a request with a key, and follows its redirects on the same origin.
 *
 * `fetch` itself would send the key to another origin. Where the method becomes GET, the key is left out. A browser
 * hides where a redirect leads, so there every redirect is refused.
 *
 * @throws RedirectRefusedError
 */
async function sendWithoutLeak(fetch: Fetch, request: Request, extras: object): Promise<Response> {
  if (request.redirect !== "follow") {
    return fetch(request, extras);
  }
  let current = request;
  for (let hop = 0; hop <= LIMIT; hop += 1) {
    const copy = await replayable(current);
    const response = await fetch(copy({ redirect: "manual" }), extras);
    if (response.type === "opaqueredirect") {
      throw new RedirectRefusedError(`${current.url} answered with a redirect, and a browser does not tell where to`);
    }
    const location = response.headers.get("location");
    if (![301, 302, 303, 307, 308].includes(response.status) || location === null) {
      return response;
    }
    const url = new URL(location, current.url);
    if (url.origin !== new URL(current.url).origin) {
      throw new RedirectRefusedError(`${current.url} redirects to another origin, ${url.origin}`);
    }
    await response.body?.cancel();
    current = next(copy({}), url, response.status);
  }
  throw new RedirectRefusedError(`${request.url} redirects more than ${LIMIT} times`);
}

function next(request: Request, url: URL, status: number): Request {
  const becomesGet = status === 303 || (status < 303 && request.method === "POST");
  if (!becomesGet) {
    return new Request(url, request);
  }
  const headers = new Headers(request.headers);
  for (const name of [HEADER, "content-type", "content-encoding", "content-language", "content-location"]) {
    headers.delete(name);
  }
  const { credentials, cache, mode, referrerPolicy, signal } = request;
  return new Request(url, { method: "GET", headers, credentials, cache, mode, referrerPolicy, signal });
}
