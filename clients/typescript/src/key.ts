/** The request header that carries the key. */
export const HEADER = "Idempotency-Key";

/** The longest key that the server accepts, in characters. */
export const MAX_KEY_LENGTH = 255;

/** A key, or a name of an intent, that cannot be used. Nothing was sent. */
export class InvalidKeyError extends Error {
  override readonly name = "InvalidKeyError";
}

/**
 * Returns a new key: a UUID of version 7, which begins with the time. Such keys keep the server's index compact.
 *
 * It needs `crypto.getRandomValues`, which browsers also have on pages without TLS (`crypto.randomUUID` they
 * have only with it).
 *
 * @throws Error if there is no Web Crypto: in Node 18, set `globalThis.crypto` to `webcrypto` of `node:crypto`.
 */
export function newKey(now: number = Date.now()): string {
  const crypto = globalThis.crypto as Crypto | undefined;
  if (crypto === undefined) {
    throw new Error("there is no Web Crypto here: set the option `newKey`, or in Node 18 `globalThis.crypto` to `webcrypto` of node:crypto");
  }
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  for (let index = 0; index < 6; index += 1) {
    bytes[index] = Math.floor(now / 2 ** (8 * (5 - index))) % 256;
  }
  bytes[6] = (bytes[6]! & 0x0f) | 0x70;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
}

/** Returns the key in a header's value, with or without quotes, or `null` if there is no header. */
export function keyOf(value: string | null): string | null {
  const quoted = value?.match(/^"((?:[^"\\]|\\.)*)"/)?.[1];
  return quoted === undefined ? value : quoted.replace(/\\(.)/g, "$1");
}

/** Returns the key without white space around it, if there are 1 to 255 characters. */
function checked(key: string): string {
  const trimmed = key.trim();
  if (trimmed === "") {
    throw new InvalidKeyError("the idempotency key is blank");
  }
  const length = Array.from(trimmed).length;
  if (length > MAX_KEY_LENGTH) {
    throw new InvalidKeyError(`the idempotency key has ${length} characters, and at most ${MAX_KEY_LENGTH} are allowed`);
  }
  return trimmed;
}

/**
 * Returns the key as a text in JSON carries it: without white space around it.
 *
 * @throws InvalidKeyError if it is blank, longer than 255 characters, or has a control character.
 */
export function memberValue(key: string): string {
  const trimmed = checked(key);
  if (/\p{Cc}/u.test(trimmed)) {
    throw new InvalidKeyError("the idempotency key has a control character");
  }
  return trimmed;
}

/**
 * Returns the header's value: the key as a String of RFC 9651, section 3.3.3, in double quotes.
 *
 * @throws InvalidKeyError if it is blank, longer than 255 characters, or not printable ASCII.
 */
export function headerValue(key: string): string {
  const trimmed = checked(key);
  if (!/^[\x20-\x7e]*$/.test(trimmed)) {
    throw new InvalidKeyError("the idempotency key has characters other than printable ASCII, which a header cannot carry");
  }
  return `"${trimmed.replace(/[\\"]/g, "\\$&")}"`;
}
