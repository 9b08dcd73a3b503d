import { type Verdict, judge, retryAfter, whole } from "./answer.js";
import { type Clock, systemClock } from "./clock.js";
import { type Fetch, type KeyOptions, LOGICAL, type Logical, unknownTo } from "./idempotent.js";
import { HEADER, InvalidKeyError, keyOf } from "./key.js";
import { isSafe } from "./operations.js";
import { RedirectRefusedError, keepOrigin, marked } from "./redirect.js";
import { replayable } from "./replayable.js";

/** The options of {@link withRetry}. Times are in milliseconds. */
export interface RetryOptions {
  /** How often a request is sent, at most; 5 by default. */
  attempts?: number | undefined;
  /** How long all attempts and pauses may take together; 60,000 by default. */
  budget?: number | undefined;
  /** How long one attempt may take, with its body; 20,000 by default. */
  attemptTimeout?: number | undefined;
  /** The upper bound of the first pause, which doubles with each; 200 by default. The pause is random below it. */
  base?: number | undefined;
  /** The upper bound of every pause; 10,000 by default. `Retry-After` comes on top. */
  cap?: number | undefined;
  /** The time, for tests. */
  clock?: Clock | undefined;
}

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
  const rules = {
    attempts: options.attempts ?? 5,
    budget: options.budget ?? 60_000,
    attemptTimeout: options.attemptTimeout ?? 20_000,
    base: options.base ?? 200,
    cap: options.cap ?? 10_000,
    clock: options.clock ?? systemClock,
  };
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

type Rules = { [Name in keyof RetryOptions]-?: NonNullable<RetryOptions[Name]> };

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
      const pause = (asked ?? 0) + clock.random() * Math.min(this.rules.cap, this.rules.base * 2 ** (attempt - 1));
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
    const { clock, attemptTimeout } = this.rules;
    const caller = this.request.signal;
    caller.throwIfAborted();
    const limit = new AbortController();
    const stop = () => limit.abort(caller.reason);
    caller.addEventListener("abort", stop, { once: true });
    const time = Math.max(0, Math.min(attemptTimeout, this.end - clock.now()));
    const tooLong = new DOMException("the attempt took too long", "TimeoutError");
    const cancel = clock.timer(time, () => limit.abort(tooLong));
    try {
      const sent = await this.fetch(copy({ signal: limit.signal }), this.init);
      const response = this.key === null && !this.logical.key ? sent : await whole(sent);
      return { verdict: await judge(response), response };
    } catch (error) {
      caller.throwIfAborted();
      if (error instanceof InvalidKeyError || error instanceof RedirectRefusedError) {
        throw error;
      }
      return { verdict: "again", error };
    } finally {
      cancel();
      caller.removeEventListener("abort", stop);
    }
  }
}

/** How an attempt ended: with a response, or with the error of one that had none. */
type Outcome = { verdict: Verdict; response: Response } | { verdict: "again"; response?: never; error: unknown };
