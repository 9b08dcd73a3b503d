import { type Verdict, judge, retryAfter, whole } from "./answer.js";
import { type RetryOptions, type Rules, limited, pauseAfter, rulesOf } from "./budget.js";
import { type Fetch, type KeyOptions, LOGICAL, type Logical, unknownTo } from "./idempotent.js";
import { HEADER, InvalidKeyError, keyOf } from "./key.js";
import { isSafe } from "./operations.js";
import { RedirectRefusedError, keepOrigin, marked } from "./redirect.js";
import { replayable } from "./replayable.js";

/** No attempt got an answer. The effect may have happened: a later call with the same key is safe, one with another is not. */
export class UnansweredError extends Error {
  override readonly name = "UnansweredError";

  /** The key of the request. It is not enumerable, so that a log of this error does not show it. */
  declare readonly idempotencyKey: string;

  constructor(
    idempotencyKey: string,
    /** How many requests were sent. */
    readonly attempts: number,
    cause: unknown,
  ) {
    super(`no answer after ${attempts} attempts; the outcome is unknown, so try again only with the same key`, { cause });
    Object.defineProperty(this, "idempotencyKey", { value: idempotencyKey, enumerable: false });
  }
}

/**
 * Returns a `fetch` that sends a request with a key again, with the same key, until it is answered or the budget is
 * used up. It goes above {@link idempotentFetch}, or below a middleware that sets the header.
 *
 * Safe methods and requests without a key are sent once, as they are. The response to a request with a key is read to its
 * end before it is returned, since one that breaks off is no answer.
 *
 * Returns the last response, whatever its status. @throws UnansweredError if the last attempt had none, and the
 * signal's reason once the caller's `signal` is aborted.
 */
export function withRetry(fetch: Fetch, options: RetryOptions = {}): Fetch {
  const rules = rulesOf(options);
  const below = keepOrigin(fetch);
  return marked(async (input, init = {}) => {
    const { idempotencyKey, intent, ...rest } = init;
    if (isSafe(init.method ?? (input instanceof Request ? input.method : "GET"))) {
      return fetch(input, init);
    }
    const request = new Request(input, rest);
    const own: KeyOptions = {};
    if (idempotencyKey !== undefined) own.idempotencyKey = idempotencyKey;
    if (intent !== undefined) own.intent = intent;
    return new Attempts(below, rules, request, { ...unknownTo(request, rest), ...own }).run();
  });
}

/** The attempts of one logical request. */
class Attempts {
  private readonly logical: Logical = {};
  private readonly end: number;
  /** What goes with each attempt. Its key is carried over to the next by `logical`. */
  private readonly init: object;
  /** The key, once it is known. */
  private key: string | null;

  constructor(
    private readonly fetch: Fetch,
    private readonly rules: Rules,
    private readonly request: Request,
    init: object,
  ) {
    this.end = rules.clock.now() + rules.budget;
    this.init = { ...init, [LOGICAL]: this.logical };
    this.key = keyOf(request.headers.get(HEADER));
  }

  async run(): Promise<Response> {
    const { clock, attempts } = this.rules;
    this.request.signal.throwIfAborted();
    const copy = await replayable(this.request);
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await this.attempt(copy);
      this.key ??= this.logical.key ?? null;
      if (outcome.verdict !== "again") {
        return outcome.response;
      }
      const asked = outcome.response && retryAfter(outcome.response, clock.date());
      const pause = pauseAfter(this.rules, attempt, asked);
      if (this.key === null || attempt >= attempts || clock.now() + pause >= this.end) {
        if (outcome.response) {
          return outcome.response;
        }
        throw this.key === null ? outcome.error : new UnansweredError(this.key, attempt, outcome.error);
      }
      await clock.sleep(pause, this.request.signal);
    }
  }

  /** Sends the request once. It rejects if another attempt makes no sense. */
  private async attempt(copy: (init: RequestInit) => Request): Promise<Outcome> {
    const caller = this.request.signal;
    caller.throwIfAborted();
    try {
      const response = await limited(this.rules, this.end, caller, async (signal) => {
        const sent = await this.fetch(copy({ signal }), this.init);
        return this.key === null && !this.logical.key ? sent : whole(sent);
      });
      return { verdict: await judge(response), response };
    } catch (error) {
      caller.throwIfAborted();
      if (error instanceof InvalidKeyError || error instanceof RedirectRefusedError) {
        throw error;
      }
      return { verdict: "again", error };
    }
  }
}

/** How an attempt ended: with a response, or with the error of one that had none. */
type Outcome = { verdict: Verdict; response: Response } | { verdict: "again"; response?: never; error: unknown };
