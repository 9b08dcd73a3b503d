import assert from "node:assert/strict";
import { test } from "node:test";
import { RedirectRefusedError, UnansweredError, headerValue } from "../../dist/index.js";
import { CASES, DOORS, TOWN, ask, client, hurried, order, seen } from "./town.js";

for (const [door, url] of Object.entries(DOORS)) {
  // The table is the one of every client (`tests/clients/src/cases.rs`).
  test(`one intent has one effect under every fault, ${door}`, async () => {
    const call = await client();
    // A handshake is cut before the first connection.
    const cases = CASES.filter(({ handshakes }) => door === "tls" || handshakes === 0);
    for (const { item: name, plan, end } of cases.sort((one, other) => other.handshakes - one.handshakes)) {
      const item = `${door}-${name}`;
      if (end === "refused") {
        await assert.rejects(order(call, item, plan, { door: url }), RedirectRefusedError, item);
        const { requests, effects } = await seen(item);
        assert.deepEqual([requests.length, effects], [1, 0], item);
        continue;
      }
      const answer = await order(call, item, plan, { door: url });
      const body = await answer.json();
      if (end === "followed") {
        assert.deepEqual([answer.status, body], [200, 1], item);
      } else {
        const replayed = answer.headers.get("idempotent-replayed") === "true";
        assert.deepEqual([answer.status, body.item, replayed], [201, item, end === "replayed"], item);
      }
      const { requests, keys, effects } = await seen(item);
      assert.deepEqual([keys.size, effects], [1, 1], item);
      // Fetch itself may answer a 421 by a request on another connection: Node 18 does.
      const passes = end === "followed" || plan === "pass" ? 0 : 1;
      assert.ok(requests.length >= plan.split(",").length + passes, item);
    }
  });
}

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

test("exactly the operations that the service's document marks get a key", async () => {
  const call = await client();
  const search = await call(`${TOWN}/searches`, { method: "POST" });
  assert.equal(await search.json(), false, "no key");
  const document = await ask("/openapi.json");
  assert.deepEqual(document.paths["/orders"].post["x-idempotency"], { key: "required" });
  assert.equal((await order(call, "marked", "pass")).status, 201);
});
