// What the unit tests share: a clock without time, and a service that answers by a list.
import { webcrypto } from "node:crypto";

// Node 18 has it only in its module.
globalThis.crypto ??= webcrypto;

/** A clock whose pauses take no time and are written down. Timers fire only by `fire`. */
export class FakeClock {
  pauses = [];
  #now = 0;
  #timers = new Set();

  constructor(random = 0) {
    this.random = () => random;
  }

  now = () => this.#now;
  date = () => Date.parse("2026-01-01T00:00:00Z") + this.#now;

  sleep = async (milliseconds, signal) => {
    this.pauses.push(milliseconds);
    this.#now += milliseconds;
    await this.onPause?.();
    signal?.throwIfAborted();
  };

  timer = (_milliseconds, fire) => {
    this.#timers.add(fire);
    return () => this.#timers.delete(fire);
  };

  fire() {
    for (const fire of this.#timers) fire();
  }

  get running() {
    return this.#timers.size;
  }
}

/** Returns a `fetch` that answers by the list, whose last stays, and writes down each request. An answer may be an error, or a function. */
export function service(...answers) {
  const seen = [];
  const fetch = async (request, init) => {
    const key = request.headers.get("idempotency-key");
    seen.push({ key, method: request.method, url: request.url, body: await request.clone().text(), init, request });
    const answer = answers[Math.min(seen.length, answers.length) - 1];
    const given = typeof answer === "function" ? await answer(request) : answer;
    if (given instanceof Error) throw given;
    return given.clone();
  };
  return { fetch, seen };
}

/** Returns a response with a problem. */
export function problem(status, code, headers = {}) {
  const body = JSON.stringify({ type: `https://docs.example/problems#${code}`, status, code });
  return new Response(body, { status, headers: { "content-type": "application/problem+json", ...headers } });
}

export const URL_OF_ORDERS = "https://shop.example/orders";

/** A request of which nothing depends on the place. */
export const ORDER = { method: "POST", body: '{"item":"tea"}', headers: { "content-type": "application/json" } };
