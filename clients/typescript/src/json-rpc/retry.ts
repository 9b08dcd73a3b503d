import { type RetryOptions, limited, pauseAfter, rulesOf } from "../budget.js";
import { LOGICAL, type Logical } from "../idempotent.js";
import { InvalidKeyError } from "../key.js";
import { UnansweredError } from "../retry.js";
import { RpcError, judge, retryAfter } from "./answer.js";
import { type Attempted, type Caller, isRepeatable } from "./caller.js";

/**
 * Returns a {@link Caller} that sends a call with a key again, with the same key, until it is answered or the budget is
 * used up. It goes above `caller`. Calls without a key are sent once, unless their parameters are the key.
 *
 * It rejects as `caller` does. @throws UnansweredError if the last attempt had no answer, and the signal's reason once the
 * caller's `signal` is aborted.
 */
export function withRetry(below: Caller, options: RetryOptions = {}): Caller {
  const rules = rulesOf(options);
  const call = async (method: string, params?: object, given: Attempted = {}) => {
    // What cannot be sent at all fails here, and not in each attempt.
    JSON.stringify(params);
    const logical: Logical = given[LOGICAL] ?? {};
    const end = rules.clock.now() + rules.budget;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await limited(rules, end, given.signal, (signal) => {
          const attempted: Attempted = { ...given, signal, [LOGICAL]: logical };
          return below(method, params, attempted);
        });
      } catch (error) {
        given.signal?.throwIfAborted();
        const key = logical.key ?? null;
        if (error instanceof InvalidKeyError || judge(error) !== "again" || !isRepeatable(below.methods, method, key)) {
          throw error;
        }
        const pause = pauseAfter(rules, attempt, retryAfter(error));
        if (attempt >= rules.attempts || rules.clock.now() + pause >= end) {
          throw error instanceof RpcError || key === null ? error : new UnansweredError(key, attempt, error);
        }
        await rules.clock.sleep(pause, given.signal);
      }
    }
  };
  return Object.assign(call, { methods: below.methods });
}
