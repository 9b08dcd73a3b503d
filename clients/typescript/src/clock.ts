/** The time and chance of a retry, which tests replace. */
export interface Clock {
  /** Returns the milliseconds since any fixed moment. */
  now(): number;
  /** Waits. It rejects with the reason of `signal` as soon as that is aborted. */
  sleep(milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Calls `fire` after this time, unless the returned function is called before. */
  timer(milliseconds: number, fire: () => void): () => void;
  /** Returns a number from 0 up to, but not including, 1. */
  random(): number;
  /** Returns the milliseconds since 1970, to which an HTTP date is compared. */
  date(): number;
}

/** The longest time that `setTimeout` can wait. */
const LONGEST_TIMER = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => Date.now(),
  random: () => Math.random(),
  timer(milliseconds, fire) {
    const timer = setTimeout(fire, Math.min(milliseconds, LONGEST_TIMER));
    return () => clearTimeout(timer);
  },
  sleep: (milliseconds, signal) =>
    new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const end = () => {
        clearTimeout(timer);
        reject(signal?.reason);
      };
      const timer = setTimeout(() => {
        signal?.removeEventListener("abort", end);
        resolve();
      }, Math.min(milliseconds, LONGEST_TIMER));
      signal?.addEventListener("abort", end, { once: true });
    }),
};
