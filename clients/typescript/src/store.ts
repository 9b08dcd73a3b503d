/**
 * Remembers the key of each intent that is not answered yet, so that a page that is loaded again, or a program that
 * is started again, asks with the same key.
 */
export interface KeyStore {
  /** Returns the key of the intent, after setting it to `fresh` if there was none. */
  take(intent: string, fresh: () => string): string | Promise<string>;
  /** Removes the key, unless the intent has another by now. */
  settle(intent: string, key: string): void | Promise<void>;
  /** Removes the intent's key, whatever it is. */
  forget(intent: string): void | Promise<void>;
}

/** Removes the key of an intent that was answered. If the store fails, the answer stays one: the next call of the intent is a replay. */
export async function settled(store: KeyStore | undefined, intent: string, key: string): Promise<void> {
  try {
    await store?.settle(intent, key);
  } catch (error) {
    console.warn("the key of an answered intent stays in its store", error);
  }
}

/** The methods of `sessionStorage` and `localStorage` that are used. */
export interface WebStorage {
  getItem(name: string): string | null;
  setItem(name: string, value: string): void;
  removeItem(name: string): void;
}

/**
 * Keeps keys in `sessionStorage` (they survive a reload of the tab) or `localStorage` (they survive a restart of the
 * browser, and all tabs of the origin share them).
 *
 * If it cannot be written, the call fails before anything is sent.
 */
export function webStorage(storage: WebStorage, prefix = "idempotency-key:"): KeyStore {
  const name = (intent: string): string => prefix + intent;
  return {
    take(intent, fresh) {
      const known = storage.getItem(name(intent));
      if (known !== null) {
        return known;
      }
      const key = fresh();
      storage.setItem(name(intent), key);
      return key;
    },
    settle(intent, key) {
      if (storage.getItem(name(intent)) === key) {
        storage.removeItem(name(intent));
      }
    },
    forget(intent) {
      storage.removeItem(name(intent));
    },
  };
}

/** Keeps keys as long as the program runs: two calls of one intent share a key until one is answered. */
export function memoryStore(): KeyStore {
  const keys = new Map<string, string>();
  return webStorage(
    {
      getItem: (name) => keys.get(name) ?? null,
      setItem: (name, value) => void keys.set(name, value),
      removeItem: (name) => void keys.delete(name),
    },
    "",
  );
}
