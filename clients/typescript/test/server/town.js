// The real service behind a proxy that does harm, which the test of this repository starts (`tests/clients`).
import { webcrypto } from "node:crypto";
import { readFileSync } from "node:fs";
import { fromOpenApi, idempotentFetch, systemClock, withRetry } from "../../dist/index.js";

// Node 18 has it only in its module.
globalThis.crypto ??= webcrypto;

/** The proxy's address. */
export const TOWN = process.env.IDEM_TOWN;

/** The proxy's doors: the open one, and the one behind TLS, whose certificate is in `NODE_EXTRA_CA_CERTS`. */
export const DOORS = { open: TOWN, tls: process.env.IDEM_TOWN_TLS };

const given = (name) => JSON.parse(readFileSync(process.env[name], "utf8"));

/** What every client is held against. */
export const CASES = given("IDEM_CASES");

/** Random plans of faults, one for each call. */
export const PLANS = given("IDEM_PLANS");

/** The machine's clock, with pauses that take no time and are written down. */
export function hurried() {
  const pauses = [];
  const sleep = async (milliseconds, signal) => {
    pauses.push(milliseconds);
    signal?.throwIfAborted();
  };
  return { ...systemClock, sleep, pauses };
}

/** Returns what the address answers, as JSON. */
export async function ask(path, init) {
  const answer = await fetch(`${TOWN}${path}`, init);
  return answer.headers.get("content-type")?.includes("json") ? answer.json() : JSON.parse((await answer.text()) || "null");
}

/** Returns the client, as an application would make it. */
export async function client({ clock = hurried(), ...options } = {}) {
  const document = await ask("/openapi.json");
  const marked = fromOpenApi(document);
  // The proxy's own paths come before those of the document: `/f/{name}/{plan}`.
  const operations = { ...marked, mark: (method, path) => marked.mark(method, path.replace(/^\/f\/[^/]+\/[^/]+/, "")) };
  return withRetry(idempotentFetch({ operations }), { clock, attempts: 12, budget: 1_800_000, attemptTimeout: 120_000, ...options });
}

/** Orders an item through a plan of faults. The item is the plan's name too. */
export function order(call, item, plan, { door = TOWN, ...init } = {}) {
  return call(`${door}/f/${item}/${plan}/orders`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ item }),
    ...init,
  });
}

/** Returns the keys that the proxy has seen under this name, and how many effects there are. */
export async function seen(item) {
  const requests = await ask(`/seen/${item}`);
  return { requests, keys: new Set(requests.map(({ key }) => key)), effects: await ask(`/effects/${item}`) };
}
