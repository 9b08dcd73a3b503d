// Many calls under random faults, which the test of this repository gives (IDEM_CLIENT_CALLS, IDEM_CLIENT_SEED).
import assert from "node:assert/strict";
import { test } from "node:test";
import { DOORS, PLANS, ask, client, order, seen } from "./town.js";

test("no call of many has two effects, and none has none", async () => {
  const call = await client();
  const doors = Object.values(DOORS);
  const rest = [...PLANS.entries()];
  const violations = [];
  const caller = async () => {
    for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
      const [index, plan] = next;
      const item = `run-${index}`;
      const answer = await order(call, item, plan, { door: doors[index % doors.length] });
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
  console.log(`${PLANS.length} calls, ${violations.length} violations`);
});
