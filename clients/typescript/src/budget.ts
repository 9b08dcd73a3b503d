import { type Clock, systemClock } from "./clock.js";

/** What the attempts of one logical request may take together. Times are in milliseconds. */
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

/** The options with their defaults. */
export type Rules = { [Name in keyof RetryOptions]-?: NonNullable<RetryOptions[Name]> };

/** Returns the options with their defaults. */
export function rulesOf(options: RetryOptions): Rules {
  return {
    attempts: options.attempts ?? 5,
    budget: options.budget ?? 60_000,
    attemptTimeout: options.attemptTimeout ?? 20_000,
    base: options.base ?? 200,
    cap: options.cap ?? 10_000,
    clock: options.clock ?? systemClock,
  };
}

/** Returns the pause after an attempt, which was asked to be at least `asked`: with full jitter. */
export function pauseAfter(rules: Rules, attempt: number, asked: number | undefined): number {
  return (asked ?? 0) + rules.clock.random() * Math.min(rules.cap, rules.base * 2 ** (attempt - 1));
}

/** Runs one attempt with a signal that is aborted by the caller's, after the attempt's time, and at `end`. */
export async function limited<T>(
  rules: Rules,
  end: number,
  caller: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const { clock, attemptTimeout } = rules;
  caller?.throwIfAborted();
  const limit = new AbortController();
  const stop = () => limit.abort(caller?.reason);
  caller?.addEventListener("abort", stop, { once: true });
  const time = Math.max(0, Math.min(attemptTimeout, end - clock.now()));
  const tooLong = new DOMException("the attempt took too long", "TimeoutError");
  const cancel = clock.timer(time, () => limit.abort(tooLong));
  try {
    return await run(limit.signal);
  } finally {
    cancel();
    caller?.removeEventListener("abort", stop);
  }
}
