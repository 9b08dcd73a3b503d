import assert from "node:assert/strict";
import { test } from "node:test";
import { InvalidKeyError, headerValue, newKey } from "../../dist/index.js";
import { keyOf } from "../../dist/key.js";
import "./play.js";

test("a key is a UUID of version 7 that begins with the time", () => {
  const key = newKey(0x0123456789ab);
  assert.match(key, /^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const keys = new Set(Array.from({ length: 1000 }, () => newKey(1)));
  assert.equal(keys.size, 1000);
});

test("the header's value is a String of RFC 9651, and reads back as the key", () => {
  for (const [key, value] of [
    ["8e03978e-40d5", '"8e03978e-40d5"'],
    ['a"b\\c', '"a\\"b\\\\c"'],
    ["a, b; c", '"a, b; c"'],
    ["k".repeat(255), `"${"k".repeat(255)}"`],
  ]) {
    assert.equal(headerValue(key), value);
    assert.equal(keyOf(value), key);
  }
  assert.equal(keyOf("bare"), "bare");
  assert.equal(keyOf(null), null);
});

test("a key that no server would take is refused before it is sent, and the text names the limit", () => {
  for (const [key, fault] of [
    ["", /blank/],
    ["  ", /blank/],
    ["k".repeat(256), /256 characters, and at most 255/],
    ["kä", /printable ASCII/],
    ["a\nb", /printable ASCII/],
  ]) {
    assert.throws(() => headerValue(key), (error) => error instanceof InvalidKeyError && fault.test(error.message));
  }
});
