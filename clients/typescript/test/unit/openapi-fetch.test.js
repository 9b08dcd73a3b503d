import assert from "node:assert/strict";
import { test } from "node:test";
import createClient from "openapi-fetch";
import { InvalidKeyError, withRetry } from "../../dist/index.js";
import { idempotencyMiddleware } from "../../dist/openapi-fetch.js";
import { FakeClock, service } from "./play.js";

const DOCUMENT = {
  paths: {
    "/orders/{id}/notes": { post: { "x-idempotency": { key: "required" } }, get: {} },
    "/searches": { post: {} },
  },
};

const NOTES = "/orders/{id}/notes";
const PARAMS = { params: { path: { id: "17/4" } } };
const CUT = new TypeError("cut");

function client(...answers) {
  const { fetch, seen } = service(...answers);
  const api = createClient({ baseUrl: "https://shop.example/api", fetch: withRetry(fetch, { clock: new FakeClock() }) });
  api.use(idempotencyMiddleware(DOCUMENT));
  return { api, seen };
}

test("a call on a marked operation has one key over its attempts, and any other has none", async () => {
  const { api, seen } = client(CUT, new Response('{"number":1}', { headers: { "content-type": "application/json" } }));
  const { data } = await api.POST(NOTES, { ...PARAMS, body: { text: "hello" } });
  assert.deepEqual(data, { number: 1 });
  await api.POST("/searches", { body: {} });
  await api.GET(NOTES, PARAMS);
  const [first, second, ...others] = seen.map(({ key }) => key);
  assert.match(first, /^"[0-9a-f-]{36}"$/);
  assert.deepEqual([second, others], [first, [null, null]]);
  assert.deepEqual(seen.slice(0, 2).map(({ body }) => body), ['{"text":"hello"}', '{"text":"hello"}']);
});

test("a call may bring its key, or refuse one", async () => {
  const { api, seen } = client(new Response("{}"));
  await api.POST(NOTES, { ...PARAMS, idempotencyKey: "mine" });
  await api.POST("/searches", { idempotencyKey: "mine" });
  await api.POST(NOTES, { ...PARAMS, idempotencyKey: false });
  await api.POST(NOTES, { ...PARAMS, headers: { "Idempotency-Key": '"theirs"' } });
  assert.deepEqual(seen.map(({ key }) => key), ['"mine"', '"mine"', null, '"theirs"']);
  await assert.rejects(api.GET(NOTES, { ...PARAMS, idempotencyKey: "mine" }), InvalidKeyError);
});

test("over another fetch, a redirect of a request with a key is an error", async () => {
  const { fetch, seen } = service(new Response("{}"));
  const api = createClient({ baseUrl: "https://shop.example", fetch });
  api.use(idempotencyMiddleware(DOCUMENT));
  await api.POST(NOTES, { ...PARAMS, body: { text: "hello" } });
  await api.POST("/searches", {});
  assert.deepEqual(seen.map(({ request }) => request.redirect), ["error", "follow"]);
  assert.equal(seen[0].body, '{"text":"hello"}');
});
