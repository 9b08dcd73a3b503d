// Many calls under random faults. IDEM_CLIENT_CALLS says how many, IDEM_CLIENT_SEED which.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ask, client, order, seen } from "./town.js";

const CALLS = Number(process.env.IDEM_CLIENT_CALLS ?? 500);
const SEED = Number(process.env.IDEM_CLIENT_SEED ?? 1);
const FAULTS = ["pass", "lost", "unsent", "half", "409", "421", "503", "502-after", "504-after"];

/** Returns a generator of numbers below 1, by mulberry32. */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

test("no call of many has two effects, and none has none", async () => {
  const call = await client();
  const random = numbers(SEED);
  const plans = Array.from({ length: CALLS }, () => {
    const length = Math.floor(random() * 5);
    return Array.from({ length }, () => FAULTS[Math.floor(random() * FAULTS.length)]).join(",") || "pass";
  });
  const rest = [...plans.entries()];
  const violations = [];
  const caller = async () => {
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      const [index, plan] = next;
      const item = `run-${index}`;
      const answer = await order(call, item, plan);
      const placed = await answer.json();
      const { keys, effects } = await seen(item);
      if (answer.status !== 201 || placed.item !== item || keys.size !== 1 || effects !== 1) {
        violations.push({ plan, status: answer.status, keys: keys.size, effects });
      }
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  assert.deepEqual(violations, []);
  assert.equal(await ask("/doubled"), 0);
  console.log(`${CALLS} calls, ${violations.length} violations`);
});
