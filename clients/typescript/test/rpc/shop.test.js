// The generated client against the real service, behind a proxy that does harm: `IDEM_SHOP` is the proxy's address.
import assert from "node:assert/strict";
import { test } from "node:test";
import { webcrypto } from "node:crypto";
import { RpcError, caller, isReplay, withRetry } from "@idem/client/json-rpc";
import { createClient, methods } from "./built/shop.js";

globalThis.crypto ??= webcrypto;

const SHOP = process.env.IDEM_SHOP;
let last = 0;

/** A client whose requests suffer what the plan says. */
function client(plan = "pass", options = {}) {
  last += 1;
  const url = `${SHOP}/f/rpc-${last}/${plan}/`;
  const headers = () => ({ "x-tenant": "acme" });
  const below = caller({ url, methods, headers, ...options });
  return createClient(withRetry(below, { base: 1 }));
}

const shop = client();

test("a call has a key of its own, and a query none", async () => {
  const before = await shop.orders.count();
  const first = await shop.orders.place({ item: "tea" });
  const second = await shop.orders.place({ item: "tea" });
  assert.notEqual(first.number, second.number);
  assert.ok(!isReplay(second));
  assert.equal(await shop.orders.count(), before + 2);
});

test("the caller's own key is kept, and without one the service refuses", async () => {
  const first = await shop.orders.place({ item: "tea" }, { idempotencyKey: "own" });
  const again = await shop.orders.place({ item: "tea" }, { idempotencyKey: "own" });
  assert.equal(again.number, first.number);
  assert.ok(isReplay(again) && !isReplay(first));
  await assert.rejects(shop.orders.place({ item: "tea" }, { idempotencyKey: false }), (error) => error instanceof RpcError && error.data.code === "key-missing");
  await assert.rejects(shop.orders.place({ item: "coffee" }, { idempotencyKey: "own" }), (error) => error.code === -32041);
});

test("one call has one effect, whatever becomes of its answers", async () => {
  for (const plan of ["lost,pass", "unsent,pass", "half,pass", "502-after,pass", "lost,502-after,half,pass", "lost,lost,unsent,lost,pass"]) {
    const item = `tea after ${plan}`;
    const before = await shop.orders.count();
    const placed = await client(plan).orders.place({ item });
    assert.equal(placed.item, item);
    assert.equal(isReplay(placed), plan !== "unsent,pass", plan);
    assert.equal(await shop.orders.count(), before + 1, plan);
  }
});

test("a call whose parameters are its key is sent again without one", async () => {
  const reserved = await client("lost,pass").orders.reserve({ item: "the last one" });
  assert.ok(isReplay(reserved));
  assert.equal((await shop.orders.reserve({ item: "the last one" })).number, reserved.number);
});

test("a query is sent once", async () => {
  await assert.rejects(client("lost,pass").orders.count());
});

test("a failure for good is the service's own error, on each try", async () => {
  for (const _ of [1, 2]) {
    const refused = shop.orders.place({ item: "unicorn" }, { idempotencyKey: "gone" });
    await assert.rejects(refused, (error) => error instanceof RpcError && error.message === "unicorn is sold out");
  }
});
