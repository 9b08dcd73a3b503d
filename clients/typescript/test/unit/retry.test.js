import assert from "node:assert/strict";
import { test } from "node:test";
import { UnansweredError, everyUnsafeMethod, fromOpenApi, idempotentFetch, withRetry } from "../../dist/index.js";
import { FakeClock, ORDER, URL_OF_ORDERS, problem, service } from "./play.js";

const CUT = new TypeError("fetch failed");
const OK = new Response('{"number":1}', { status: 201 });

function client(answers, { clock = new FakeClock(), operations = everyUnsafeMethod(), ...options } = {}) {
  const { fetch, seen } = service(...answers);
  const call = withRetry(idempotentFetch({ operations, fetch }), { clock, ...options });
  return { call, seen, clock };
}

function plain(status, headers = {}) {
  return new Response(null, { status, headers });
}

test("every attempt has the same key and the same body", async () => {
  const { call, seen, clock } = client([CUT, plain(503), problem(409, "in-flight"), OK]);
  const form = new FormData();
  form.set("item", "tea");
  const answer = await call(URL_OF_ORDERS, { method: "POST", body: form });
  assert.equal(answer.status, 201);
  assert.deepEqual(await answer.json(), { number: 1 });
  assert.equal(seen.length, 4);
  assert.equal(new Set(seen.map(({ key }) => key)).size, 1);
  assert.equal(new Set(seen.map(({ body }) => body)).size, 1, "the boundary of the form is the same");
  assert.equal(clock.running, 0);
});

test("what another attempt may heal is retried, and nothing else", async () => {
  for (const [answer, times] of [
    ...[408, 421, 425, 429, 502, 503, 504].map((status) => [plain(status), 2]),
    [problem(409, "in-flight"), 2],
    [problem(202, "in-flight"), 2],
    [problem(400, "request-unreadable"), 2],
    [CUT, 2],
    ...[200, 201, 202, 204, 400, 401, 403, 404, 409, 422, 500, 501].map((status) => [plain(status), 1]),
    [problem(409, "outcome-unknown"), 1],
    [problem(409, "account-closed"), 1],
    [problem(422, "mismatch"), 1],
    [problem(422, "recorded-failure"), 1],
  ]) {
    const { call, seen } = client([answer, OK]);
    await call(URL_OF_ORDERS, ORDER);
    assert.equal(seen.length, times, answer.status);
  }
});

test("a code is found in the type alone, and a body that is no JSON has none", async () => {
  const typed = new Response('{"type":"https://x.example/p#in-flight"}', { status: 409, headers: { "content-type": "application/problem+json" } });
  const broken = new Response("{", { status: 409, headers: { "content-type": "application/json" } });
  for (const [answer, times] of [[typed, 2], [broken, 1]]) {
    const { call, seen } = client([answer, OK]);
    await call(URL_OF_ORDERS, ORDER);
    assert.equal(seen.length, times);
  }
});

test("safe methods and requests without a key are sent once, and their errors are fetch's own", async () => {
  const { call, seen } = client([CUT], { operations: fromOpenApi({}) });
  await assert.rejects(call(URL_OF_ORDERS, ORDER), (error) => error === CUT);
  await assert.rejects(call(URL_OF_ORDERS, { ...ORDER, idempotencyKey: false }), (error) => error === CUT);
  await assert.rejects(call(URL_OF_ORDERS, { method: "GET" }), (error) => error === CUT);
  assert.deepEqual(seen.map(({ key }) => key), [null, null, null]);
});

test("Retry-After is waited for, in seconds and as a date, with a random pause on top", async () => {
  for (const [value, pause] of [
    ["3", 3100],
    ["0", 100],
    ["Thu, 01 Jan 2026 00:00:07 GMT", 7100],
    ["Thursday, 01-Jan-26 00:00:07 GMT", 7100],
    ["Wed, 31 Dec 2025 23:59:00 GMT", 100],
    ["soon", 100],
    ["-5", 100],
    ["1.5", 100],
  ]) {
    const { call, clock } = client([plain(503, { "retry-after": value }), OK], { clock: new FakeClock(0.5) });
    await call(URL_OF_ORDERS, ORDER);
    assert.deepEqual(clock.pauses, [pause], value);
  }
});

test("pauses are random below a bound that doubles up to the cap", async () => {
  const { call, clock } = client([plain(503)], { clock: new FakeClock(0.5), attempts: 6, base: 100, cap: 1000 });
  assert.equal((await call(URL_OF_ORDERS, ORDER)).status, 503);
  assert.deepEqual(clock.pauses, [50, 100, 200, 400, 500]);
  const least = client([plain(503)], { attempts: 3 });
  await least.call(URL_OF_ORDERS, ORDER);
  assert.deepEqual(least.clock.pauses, [0, 0]);
});

test("the budget ends the attempts, and a pause that would outlast it is not begun", async () => {
  const { call, seen, clock } = client([plain(503, { "retry-after": "4" })], { budget: 10_000, attempts: 9 });
  assert.equal((await call(URL_OF_ORDERS, ORDER)).status, 503);
  assert.deepEqual([seen.length, clock.pauses], [3, [4000, 4000]]);
  const long = client([plain(429, { "retry-after": "86400" }), OK]);
  assert.equal((await long.call(URL_OF_ORDERS, ORDER)).status, 429);
  assert.deepEqual(long.clock.pauses, []);
});

test("without an answer the error has the key, which a log of it does not show", async () => {
  const { call, seen } = client([plain(503), CUT], { attempts: 3 });
  const error = await call(URL_OF_ORDERS, { ...ORDER, idempotencyKey: "mine" }).catch((error) => error);
  assert.ok(error instanceof UnansweredError);
  assert.deepEqual([error.idempotencyKey, error.attempts, error.cause], ["mine", 3, CUT]);
  assert.ok(!JSON.stringify(error).includes("mine") && !Object.keys(error).includes("idempotencyKey"));
  assert.equal(seen.length, 3);
});

test("an attempt that hangs is cut off and retried", async () => {
  const clock = new FakeClock();
  const hang = (request) => new Promise((_, reject) => {
    request.signal.addEventListener("abort", () => reject(request.signal.reason));
    clock.fire();
  });
  const { call, seen } = client([hang, OK], { clock });
  assert.equal((await call(URL_OF_ORDERS, ORDER)).status, 201);
  assert.equal(seen.length, 2);
});

test("half a body is no answer", async () => {
  const half = () => new Response(new ReadableStream({ pull: (pipe) => pipe.error(new TypeError("cut")) }), { status: 201 });
  const { call, seen } = client([half, OK]);
  assert.deepEqual(await (await call(URL_OF_ORDERS, ORDER)).json(), { number: 1 });
  assert.equal(seen.length, 2);
});

test("the caller's signal ends an attempt and a pause at once, with its reason", async () => {
  const caller = new AbortController();
  const reason = new Error("the user left");
  const during = client([(request) => new Promise((_, reject) => {
    request.signal.addEventListener("abort", () => reject(request.signal.reason));
    caller.abort(reason);
  })]);
  await assert.rejects(during.call(URL_OF_ORDERS, { ...ORDER, signal: caller.signal }), (error) => error === reason);
  assert.equal(during.seen.length, 1);

  const later = new AbortController();
  const clock = new FakeClock();
  clock.onPause = () => later.abort(reason);
  const pausing = client([plain(503)], { clock });
  await assert.rejects(pausing.call(URL_OF_ORDERS, { ...ORDER, signal: later.signal }), (error) => error === reason);
  assert.equal(pausing.seen.length, 1);

  const before = client([OK]);
  await assert.rejects(before.call(URL_OF_ORDERS, { ...ORDER, signal: caller.signal }));
  assert.equal(before.seen.length, 0);
});

test("the returned response has its address and its headers, and 204 has no body", async () => {
  const { call } = client([new Response(null, { status: 204, headers: { location: "/orders/1" } })]);
  const answer = await call(URL_OF_ORDERS, ORDER);
  assert.deepEqual([answer.status, answer.headers.get("location"), await answer.text()], [204, "/orders/1", ""]);
});
