import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidKeyError, UnansweredError, memoryStore } from "../../dist/index.js";
import { RpcError, TransportError, caller, isReplay, withRetry } from "../../dist/json-rpc/index.js";
import { FakeClock } from "./play.js";

const MEMBER = "dev.idem/idempotencyKey";
const METHODS = {
  "orders.place": { key: "required", member: MEMBER },
  "orders.reserve": { key: "in-request" },
};
const CUT = new TypeError("fetch failed");

/** Returns a service that answers by the list, whose last stays, and the parameters that it saw. */
function service(...answers) {
  const seen = [];
  const fetch = async (_url, init) => {
    const message = JSON.parse(init.body);
    seen.push(message);
    assert.equal(init.redirect, "error");
    const answer = answers[Math.min(seen.length, answers.length) - 1];
    if (answer instanceof Error) throw answer;
    if (answer instanceof Response) return answer.clone();
    return Response.json({ jsonrpc: "2.0", id: message.id, ...answer });
  };
  const keys = () => seen.map(({ params }) => params?._meta?.[MEMBER]);
  return { fetch, seen, keys };
}

function client(answers, { clock = new FakeClock(), ...options } = {}) {
  const { fetch, seen, keys } = service(...answers);
  const below = caller({ url: "https://shop.example/rpc", methods: METHODS, fetch, ...options });
  return { below, call: withRetry(below, { clock, attempts: 4 }), seen, keys, clock };
}

const problem = (code, data = {}) => ({ error: { code: -32040, message: "refused", data: { code, ...data } } });
const OK = { result: { number: 1 } };

test("exactly the marked methods get a key, in the member that the document names", async () => {
  const { below, seen, keys } = client([OK]);
  await below("orders.place", { item: "tea", _meta: { progressToken: 7 } });
  await below("orders.count");
  await below("orders.reserve", { item: "tea" });
  await below("toString", {});
  const [key, ...others] = keys();
  assert.match(key, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  assert.deepEqual(others, [undefined, undefined, undefined]);
  assert.deepEqual(seen[0].params, { item: "tea", _meta: { progressToken: 7, [MEMBER]: key } });
  assert.deepEqual(seen.map(({ id }) => id), [1, 2, 3, 4]);
});

test("a call may bring its key, or none", async () => {
  const { below, keys } = client([OK]);
  await below("orders.place", {}, { idempotencyKey: " k " });
  await below("orders.place", {}, { idempotencyKey: false });
  assert.deepEqual(keys(), ["k", undefined]);
});

test("a key that cannot be used is refused before anything is sent", async () => {
  const { call, below, seen } = client([OK]);
  for (const [method, params, options] of [
    ["orders.place", {}, { idempotencyKey: " " }],
    ["orders.place", {}, { idempotencyKey: "k".repeat(256) }],
    ["orders.place", {}, { idempotencyKey: "a\u0085b" }],
    ["orders.place", [], {}],
    ["orders.place", {}, { intent: "a" }],
    ["orders.count", {}, { idempotencyKey: "k" }],
    ["orders.reserve", {}, { intent: "a" }],
  ]) {
    await assert.rejects(call(method, params, options), InvalidKeyError);
  }
  assert.equal(seen.length, 0);
  await below("orders.place", {}, { idempotencyKey: "𝄞".repeat(255) });
});

test("every attempt has the same key, and the next call another", async () => {
  const page = new Response("<html>", { status: 502 });
  const half = new Response('{"jsonrpc":"2.0","id":1,"resu');
  const { call, keys } = client([CUT, page, half, OK]);
  assert.deepEqual(await call("orders.place", {}), { number: 1 });
  assert.equal(keys().length, 4);
  assert.equal(new Set(keys()).size, 1);
  await call("orders.place", {});
  assert.equal(new Set(keys()).size, 2);
});

test("a refusal that passes is waited for as it says, and any other is final", async () => {
  for (const [answer, times] of [
    [problem("in-flight", { retry_after: 3 }), 2],
    [problem("try-again"), 2],
    [problem("unavailable"), 2],
    [problem("mismatch"), 1],
    [problem("outcome-unknown"), 1],
    [{ error: { code: 1, message: "sold out" } }, 1],
    [new Response("no", { status: 404 }), 1],
  ]) {
    const { call, seen, clock } = client([answer, OK], { clock: new FakeClock(0.5) });
    await call("orders.place", {}).catch((error) => assert.ok(error instanceof RpcError || error instanceof TransportError));
    assert.equal(seen.length, times, JSON.stringify(answer));
    if (answer.error?.data?.retry_after === 3) {
      assert.deepEqual(clock.pauses, [3100]);
    }
  }
});

test("a call without a key is sent once, unless its parameters are the key", async () => {
  for (const [method, options, times] of [
    ["orders.count", {}, 1],
    ["orders.place", { idempotencyKey: false }, 1],
    ["orders.reserve", {}, 4],
  ]) {
    const { call, seen } = client([CUT]);
    await assert.rejects(call(method, {}, options), (error) => error === CUT);
    assert.equal(seen.length, times, method);
  }
});

test("a call that is never answered says so, and keeps its key where no log shows it", async () => {
  const { call, keys } = client([CUT]);
  const error = await call("orders.place", {}).catch((error) => error);
  assert.ok(error instanceof UnansweredError);
  assert.equal(error.idempotencyKey, keys()[0]);
  assert.ok(!JSON.stringify(error).includes(keys()[0]));
  const { call: refused } = client([problem("in-flight")]);
  await assert.rejects(refused("orders.place", {}), (error) => error instanceof RpcError && error.data.code === "in-flight");
});

test("an intent has one key until it is answered", async () => {
  const store = memoryStore();
  const failure = { error: { code: -32042, message: "failed for good", data: { code: "recorded-failure", replayed: true } } };
  const { below, keys } = client([CUT, problem("mismatch"), OK, failure, OK], { store });
  const options = { intent: "order:1" };
  await assert.rejects(below("orders.place", {}, options));
  await assert.rejects(below("orders.place", {}, options));
  await below("orders.place", {}, options);
  await assert.rejects(below("orders.place", {}, options), RpcError);
  await below("orders.place", {}, options);
  const [a, b, c, d, e] = keys();
  assert.ok(a === b && b === c, "until the result");
  assert.ok(d !== c && e !== d, "a recorded failure is an answer");
});

test("a store that fails after the answer does not replace it", async (t) => {
  const warn = t.mock.method(console, "warn", () => {});
  const store = { ...memoryStore(), settle: async () => { throw new Error("the disk is full"); } };
  const { call, seen } = client([OK], { store });
  assert.deepEqual(await call("orders.place", {}, { intent: "order:1" }), { number: 1 });
  assert.deepEqual([seen.length, warn.mock.callCount()], [1, 1]);
});

test("parameters that have no JSON are refused before anything is sent", async () => {
  const { call, seen, clock } = client([OK]);
  const circle = {};
  circle.self = circle;
  for (const params of [circle, { amount: 1n }]) {
    await assert.rejects(call("orders.place", params), TypeError);
  }
  assert.deepEqual([seen.length, clock.pauses], [0, []]);
});

test("an error object of a gateway with a status that passes is no answer", async () => {
  const body = JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32000, message: "too busy" } });
  for (const [status, times] of [[503, 2], [429, 2], [400, 1]]) {
    const { call, seen } = client([new Response(body, { status }), OK]);
    await call("orders.place", {}).catch((error) => assert.ok(error instanceof RpcError));
    assert.equal(seen.length, times, String(status));
  }
});

test("a caller who gives up is told his own reason", async () => {
  const { call, seen } = client([CUT]);
  const reason = new Error("enough");
  await assert.rejects(call("orders.place", {}, { signal: AbortSignal.abort(reason) }), (error) => error === reason);
  assert.equal(seen.length, 0);
});

test("a result of another call, or with no result, is no answer", async () => {
  for (const answer of [{ id: 99, result: 1 }, {}]) {
    const { below } = client([answer]);
    await assert.rejects(below("orders.place", {}), TransportError);
  }
});

test("a replay says so in its meta", () => {
  assert.ok(isReplay({ number: 1, _meta: { "com.example/idempotentReplayed": true } }));
  for (const other of [{ number: 1 }, { _meta: { "dev.idem/idempotentReplayed": false } }, 7, null]) {
    assert.ok(!isReplay(other));
  }
});
