import assert from "node:assert/strict";
import { test } from "node:test";
import { everyUnsafeMethod, fromOpenApi, idempotentFetch } from "../../dist/index.js";
import { service } from "./play.js";

const DOCUMENT = {
  servers: [{ url: "https://shop.example/api" }],
  paths: {
    "/orders": {
      post: { parameters: [{ $ref: "#/components/parameters/IdempotencyKey" }] },
      get: { parameters: [{ $ref: "#/components/parameters/IdempotencyKey" }] },
    },
    "/orders/{id}": {
      parameters: [{ in: "path", name: "id" }, { in: "header", name: "idempotency-key" }],
      delete: {},
    },
    "/orders/today": { delete: {} },
    "/searches": { post: { parameters: [{ in: "query", name: "Idempotency-Key", required: true }] } },
    "/marked.now": { put: { "x-idempotency": { key: "required" } } },
  },
  components: { parameters: { IdempotencyKey: { in: "header", name: "Idempotency-Key", required: true } } },
};

test("exactly the operations that the document marks get a key", async () => {
  const { fetch, seen } = service(new Response("{}"));
  const call = idempotentFetch({ operations: fromOpenApi(DOCUMENT), fetch });
  const cases = [
    ["POST", "/api/orders", true],
    ["POST", "/api/orders?page=2", true],
    ["DELETE", "/api/orders/17", true],
    ["PUT", "/api/marked.now", true],
    ["DELETE", "/api/orders/today", false],
    ["DELETE", "/api/orders/17/lines", false],
    ["PUT", "/api/markedXnow", false],
    ["PATCH", "/api/orders", false],
    ["GET", "/api/orders", false],
    ["POST", "/api/searches", false],
    ["POST", "/orders", false],
    ["POST", "/apiorders", false],
  ];
  for (const [method, path] of cases) await call(`https://shop.example${path}`, { method });
  assert.deepEqual(
    seen.map(({ key }) => key !== null),
    cases.map(([, , keyed]) => keyed),
  );
});

test("a document says whether the key is required or optional", () => {
  const operations = fromOpenApi(DOCUMENT);
  assert.equal(operations.mark("POST", "/api/orders"), "required");
  assert.equal(operations.mark("DELETE", "/api/orders/17"), "optional");
  assert.equal(operations.markOfTemplate("DELETE", "/orders/{id}"), "optional");
  assert.equal(operations.markOfTemplate("GET", "/orders"), undefined);
  assert.equal(fromOpenApi(DOCUMENT, "/v2/").mark("POST", "/v2/orders"), "required");
  assert.equal(fromOpenApi({}).mark("POST", "/orders"), undefined);
});

test("without a document, every method with an effect takes a key", () => {
  const { mark } = everyUnsafeMethod();
  const all = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY", "get", "POST", "PUT", "PATCH", "DELETE"];
  assert.deepEqual(all.filter((method) => mark(method, "/")), ["POST", "PUT", "PATCH", "DELETE"]);
});
