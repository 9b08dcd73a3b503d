import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidKeyError, RedirectRefusedError, everyUnsafeMethod, fromOpenApi, idempotentFetch } from "../../dist/index.js";
import { ORDER, URL_OF_ORDERS, service } from "./play.js";

const NOTHING_MARKED = fromOpenApi({});

function counted() {
  let made = 0;
  return () => `key-${(made += 1)}`;
}

function client(options, ...answers) {
  const { fetch, seen } = service(...answers);
  const call = idempotentFetch({ operations: everyUnsafeMethod(), newKey: counted(), fetch, ...options });
  return { call, seen };
}

test("each logical request has a key of its own", async () => {
  const { call, seen } = client({}, new Response("{}"));
  await call(URL_OF_ORDERS, ORDER);
  await call(new Request(URL_OF_ORDERS, ORDER));
  assert.deepEqual(seen.map(({ key, body }) => [key, body]), [['"key-1"', ORDER.body], ['"key-2"', ORDER.body]]);
});

test("a call may bring its key, or refuse one, and a header that is there stays", async () => {
  const { call, seen } = client({}, new Response("{}"));
  await call(URL_OF_ORDERS, { ...ORDER, idempotencyKey: "mine" });
  await call(URL_OF_ORDERS, { ...ORDER, idempotencyKey: false });
  await call(URL_OF_ORDERS, { ...ORDER, headers: { "Idempotency-Key": '"theirs"' } });
  assert.deepEqual(seen.map(({ key }) => key), ['"mine"', null, '"theirs"']);
  const unmarked = client({ operations: NOTHING_MARKED }, new Response("{}"));
  await unmarked.call(URL_OF_ORDERS, { ...ORDER, idempotencyKey: "asked-for" });
  assert.equal(unmarked.seen[0].key, '"asked-for"');
});

test("a safe method never has a key", async () => {
  const { call, seen } = client({}, new Response("{}"));
  for (const method of ["GET", "HEAD", "OPTIONS"]) {
    await call(URL_OF_ORDERS, { method });
    await assert.rejects(call(URL_OF_ORDERS, { method, idempotencyKey: "k" }), InvalidKeyError);
  }
  assert.deepEqual(seen.map(({ key }) => key), [null, null, null]);
});

test("options that are not fetch's own are passed on, and those of this wrapper are not", async () => {
  const { call, seen } = client({}, new Response("{}"));
  await call(URL_OF_ORDERS, { ...ORDER, idempotencyKey: "k", dispatcher: "one" });
  assert.deepEqual(seen[0].init, { dispatcher: "one" });
});

test("a redirect on the same origin is followed with the key, and one that becomes GET without", async () => {
  const moved = (status, location) => new Response(null, { status, headers: { location } });
  for (const [status, method, key] of [
    [307, "POST", '"key-1"'],
    [308, "POST", '"key-1"'],
    [303, "GET", null],
    [302, "GET", null],
  ]) {
    const { call, seen } = client({}, moved(status, "/moved"), new Response("{}"));
    await call(URL_OF_ORDERS, ORDER);
    assert.deepEqual(seen.map(({ url }) => url), [URL_OF_ORDERS, "https://shop.example/moved"]);
    assert.deepEqual([seen[1].method, seen[1].key, seen[1].body], [method, key, key === null ? "" : ORDER.body], String(status));
  }
});

test("a key goes to no other origin, and a loop comes to an end", async () => {
  for (const [location, times] of [
    ["https://other.example/orders", 1],
    ["http://shop.example/orders", 1],
    [URL_OF_ORDERS, 21],
  ]) {
    const { call, seen } = client({}, new Response(null, { status: 307, headers: { location } }));
    await assert.rejects(call(URL_OF_ORDERS, ORDER), RedirectRefusedError);
    assert.equal(seen.length, times, location);
  }
  const { call, seen } = client({}, new Response(null, { status: 307, headers: { location: "https://other.example" } }));
  const answer = await call(URL_OF_ORDERS, { ...ORDER, redirect: "manual" });
  assert.deepEqual([answer.status, seen.length], [307, 1]);
});

test("a browser's redirect, which hides its goal, is refused", async () => {
  const opaque = () => ({ type: "opaqueredirect", clone: opaque, headers: new Headers(), status: 0 });
  const { call } = client({}, opaque());
  await assert.rejects(call(URL_OF_ORDERS, ORDER), RedirectRefusedError);
});
