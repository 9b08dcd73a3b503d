// What users write with a generated client must compile under strict rules, and what is wrong must not.
import { caller, withRetry } from "@idem/client/json-rpc";
import { type Client, type Packing, createClient, methods } from "./shop.js";

const shop: Client = createClient(withRetry(caller({ url: "/rpc", methods }), { attempts: 3 }));
export const number: Promise<number> = shop.orders.place({ item: "tea", packing: "gift-box" }, { idempotencyKey: "k" }).then((placed) => placed.number);
export const count: Promise<number> = shop.orders.count();
export const nothing: Promise<null> = shop.mail.send({ item: "ada" }, { intent: "greet:ada", idempotencyKey: false });
export const packing: Packing = "paper";

// @ts-expect-error: a query takes no key.
void shop.orders.count({}, { idempotencyKey: "k" });
// @ts-expect-error: its parameters are its key.
void shop.orders.reserve({ item: "tea" }, { idempotencyKey: "k" });
// @ts-expect-error: a key is a text or false.
void shop.orders.place({ item: "tea" }, { idempotencyKey: true });
// @ts-expect-error: a parameter is missing.
void shop.orders.place({});
// @ts-expect-error: there is no such packing.
void shop.orders.place({ item: "tea", packing: "straw" });
