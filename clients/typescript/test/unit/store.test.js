import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidKeyError, everyUnsafeMethod, idempotentFetch, memoryStore, webStorage, withRetry } from "../../dist/index.js";
import { FakeClock, ORDER, URL_OF_ORDERS, problem, service } from "./play.js";

const PAY = { ...ORDER, intent: "pay:cart-17" };

/** A browser's storage. */
function storage() {
  const items = new Map();
  return {
    items,
    getItem: (name) => items.get(name) ?? null,
    setItem: (name, value) => void items.set(name, value),
    removeItem: (name) => void items.delete(name),
  };
}

function load(store, ...answers) {
  const { fetch, seen } = service(...answers);
  return { call: idempotentFetch({ operations: everyUnsafeMethod(), store, fetch }), seen };
}

test("a page that is loaded again asks with the same key, until it is answered", async () => {
  const session = storage();
  const first = load(webStorage(session), new TypeError("cut"));
  await assert.rejects(first.call(URL_OF_ORDERS, PAY), TypeError);
  const second = load(webStorage(session), new Response("{}"));
  await second.call(URL_OF_ORDERS, PAY);
  assert.equal(second.seen[0].key, first.seen[0].key);
  assert.equal(session.items.size, 0);
  await second.call(URL_OF_ORDERS, PAY);
  assert.notEqual(second.seen[1].key, first.seen[0].key);
});

test("a refusal does not prove that an earlier attempt had no effect, so the key stays", async () => {
  for (const answer of [
    ...[401, 403, 404, 500, 503].map((status) => new Response(null, { status })),
    problem(409, "in-flight"),
    problem(409, "outcome-unknown"),
    problem(422, "mismatch"),
  ]) {
    const session = storage();
    await load(webStorage(session), answer).call(URL_OF_ORDERS, PAY);
    assert.equal(session.items.size, 1, String(answer.status));
  }
  const session = storage();
  await load(webStorage(session), problem(422, "recorded-failure", { "idempotent-replayed": "true" })).call(URL_OF_ORDERS, PAY);
  assert.equal(session.items.size, 0);
});

test("a store that fails after the answer does not make the request be sent again", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const store = { ...memoryStore(), settle: async () => { throw new Error("the disk is full"); } };
  const { call, seen } = load(store, new Response("{}"));
  const response = await withRetry(call, { clock: new FakeClock() })(URL_OF_ORDERS, PAY);
  assert.deepEqual([response.status, seen.length, warn.mock.callCount()], [200, 1, 1]);
});

test("a response that breaks off leaves the key", async () => {
  const session = storage();
  const half = () => new Response(new ReadableStream({ pull: (pipe) => pipe.error(new TypeError("cut")) }));
  await assert.rejects(load(webStorage(session), half).call(URL_OF_ORDERS, PAY));
  assert.equal(session.items.size, 1);
});

test("two calls of one intent at the same time have one key, and the later answer does not clear the next intent's", async () => {
  const store = memoryStore();
  let open;
  const gate = new Promise((resolve) => (open = resolve));
  const slow = async () => (await gate, new Response("{}"));
  const { call, seen } = load(store, slow, new Response("{}"), new TypeError("cut"), new TypeError("cut"));
  const first = call(URL_OF_ORDERS, PAY);
  await call(URL_OF_ORDERS, PAY);
  await assert.rejects(call(URL_OF_ORDERS, PAY));
  open();
  await first;
  await assert.rejects(call(URL_OF_ORDERS, PAY));
  const keys = seen.map(({ key }) => key);
  assert.deepEqual([keys[1], keys[3]], [keys[0], keys[2]]);
  assert.notEqual(keys[2], keys[0]);
});

test("an intent that is forgotten gets a new key", async () => {
  const store = memoryStore();
  const { call, seen } = load(store, new TypeError("cut"));
  await assert.rejects(call(URL_OF_ORDERS, PAY));
  store.forget("pay:cart-17");
  await assert.rejects(call(URL_OF_ORDERS, PAY));
  assert.notEqual(seen[0].key, seen[1].key);
});

test("nothing is sent without a store that keeps the key", async () => {
  const full = { ...storage(), setItem: () => { throw new Error("the quota is exceeded"); } };
  const { call, seen } = load(webStorage(full), new Response("{}"));
  await assert.rejects(withRetry(call, { clock: new FakeClock() })(URL_OF_ORDERS, PAY), /quota/);
  const without = load(undefined, new Response("{}"));
  await assert.rejects(without.call(URL_OF_ORDERS, PAY), InvalidKeyError);
  assert.equal(seen.length + without.seen.length, 0);
});
