import assert from "node:assert/strict";
import { test } from "node:test";
import { RedirectRefusedError, UnansweredError, headerValue } from "../../dist/index.js";
import { TOWN, ask, client, hurried, order, seen } from "./town.js";

test("one intent has one effect under every fault", async () => {
  const plans = [
    "lost",
    "unsent",
    "half",
    "409",
    "421",
    "425",
    "429",
    "503",
    "502-after",
    "504-after",
    "lost,lost,lost",
    "unsent,503,lost,409,half,502-after,421",
  ];
  const call = await client();
  for (const [index, plan] of plans.entries()) {
    const item = `fault-${index}`;
    const answer = await order(call, item, plan);
    assert.equal(answer.status, 201, plan);
    assert.equal((await answer.json()).item, item);
    const { requests, keys, effects } = await seen(item);
    assert.deepEqual([keys.size, effects], [1, 1], plan);
    // Fetch itself may answer a 421 by a request on another connection: Node 18 does.
    assert.ok(requests.length > plan.split(",").length, plan);
    const committed = /lost|half|after/.test(plan);
    assert.equal(answer.headers.get("idempotent-replayed"), committed ? "true" : null, plan);
  }
});

test("Retry-After of the service and of the proxy is waited for", async () => {
  for (const status of [409, 503]) {
    const clock = hurried();
    await order(await client({ clock }), `later-${status}`, `${status}`);
    assert.ok(clock.pauses.length === 1 && clock.pauses[0] >= 1000, `${clock.pauses}`);
  }
});

test("a call whose key is in flight waits, and gets the answer of the first", async () => {
  const idempotencyKey = "held-1";
  await fetch(`${TOWN}/gates/${idempotencyKey}/close`, { method: "POST" });
  const first = order(await client(), "held", "pass", { idempotencyKey });
  await fetch(`${TOWN}/gates/${idempotencyKey}/entered`, { method: "POST" });
  const clock = hurried();
  const sleep = clock.sleep;
  // The second opens the gate as it begins to wait, which it does because the service refused it.
  clock.sleep = async (...all) => {
    await sleep(...all);
    await fetch(`${TOWN}/gates/${idempotencyKey}/open`, { method: "POST" });
    await first;
  };
  const second = await order(await client({ clock }), "held", "pass", { idempotencyKey });
  assert.deepEqual([(await first).status, second.status], [201, 201]);
  assert.equal(second.headers.get("idempotent-replayed"), "true");
  assert.ok(clock.pauses.length >= 1 && clock.pauses[0] >= 1000);
  assert.equal((await seen("held")).effects, 1);
});

test("the same key with another request is refused at once", async () => {
  const call = await client();
  await order(call, "tea", "pass", { idempotencyKey: "mixed-up" });
  const refused = await order(call, "coffee", "pass", { idempotencyKey: "mixed-up" });
  assert.equal(refused.status, 422);
  assert.equal((await refused.json()).code, "mismatch");
  assert.equal((await seen("coffee")).requests.length, 1);
});

test("without an answer the error has the key, with which a later call gets the result", async () => {
  const error = await order(await client({ attempts: 2 }), "unanswered", "lost,lost").catch((error) => error);
  assert.ok(error instanceof UnansweredError, String(error));
  const later = await order(await client(), "unanswered", "lost,lost", { idempotencyKey: error.idempotencyKey });
  assert.deepEqual([later.status, later.headers.get("idempotent-replayed")], [201, "true"]);
  const { keys, effects } = await seen("unanswered");
  assert.deepEqual([[...keys], effects], [[headerValue(error.idempotencyKey)], 1]);
});

test("a redirect after the effect is followed without the key, and one to another origin is not followed", async () => {
  const call = await client();
  const found = await order(call, "moved", "moved-303");
  assert.deepEqual([found.status, await found.json()], [200, 1]);
  await assert.rejects(order(call, "away", "away-307"), RedirectRefusedError);
  assert.equal((await seen("away")).requests.length, 1);
});

test("exactly the operations that the service's document marks get a key", async () => {
  const call = await client();
  const search = await call(`${TOWN}/searches`, { method: "POST" });
  assert.equal(await search.json(), false, "no key");
  const document = await ask("/openapi.json");
  assert.deepEqual(document.paths["/orders"].post["x-idempotency"], { key: "required" });
  assert.equal((await order(call, "marked", "pass")).status, 201);
});
