// What users write must compile under strict rules, and what is wrong must not.
import createClient from "openapi-fetch";
import { type KeyStore, everyUnsafeMethod, fromOpenApi, idempotentFetch, memoryStore, withRetry } from "../dist/index.js";
import { idempotencyMiddleware } from "../dist/openapi-fetch.js";

interface Paths {
  "/orders": {
    post: {
      requestBody: { content: { "application/json": { item: string } } };
      responses: { 201: { content: { "application/json": { number: number } } } };
    };
  };
}

const store: KeyStore = memoryStore();
const call = withRetry(idempotentFetch({ operations: fromOpenApi({ paths: {} }), store }), { attempts: 3 });
export const platform: typeof fetch = call;
export const ordered: Promise<Response> = call("/orders", { method: "POST", intent: "order:1", idempotencyKey: false });

const api = createClient<Paths>({ fetch: call });
api.use(idempotencyMiddleware({ paths: {} }));
export const number = api.POST("/orders", { body: { item: "tea" }, idempotencyKey: "k" }).then(({ data }) => data?.number);

// @ts-expect-error: a key is a text or false.
void call("/orders", { idempotencyKey: true });
// @ts-expect-error: which requests get a key must be said.
idempotentFetch({});
void everyUnsafeMethod;
