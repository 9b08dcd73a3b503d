// Sends one order for each address by the named client and setting, and prints how each ended, one a line.
// Arguments: the setting, then the addresses. The key is made once for each order, except where a setting says otherwise.
import { randomUUID } from "node:crypto";
import axios from "axios";
import axiosRetry from "axios-retry";
import got from "got";
import ky from "ky";
import { Agent, RetryAgent, interceptors, request as undiciRequest } from "undici";

const JSON_BODY = { "content-type": "application/json" };
const AGAIN = [408, 409, 421, 425, 429, 502, 503, 504];
const newKey = () => `"${randomUUID()}"`;

/** The order's item is the name in its address: `/f/{name}/{plan}/orders`. */
const item = (url) => new URL(url).pathname.split("/")[2];

function plainInit(url) {
  return { method: "POST", headers: { ...JSON_BODY, "idempotency-key": newKey() }, body: JSON.stringify({ item: item(url) }) };
}

async function whole(response) {
  await response.text();
  return response.status;
}

async function byAxios(url, client, headers = { "idempotency-key": newKey() }) {
  return (await client.post(url, { item: item(url) }, { headers })).status;
}

async function byUndici(url, dispatcher) {
  const { statusCode, body } = await undiciRequest(url, { ...plainInit(url), dispatcher });
  await body.text();
  return statusCode;
}

const KY_HEALED = { limit: 5, methods: ["post"], statusCodes: AGAIN, afterStatusCodes: AGAIN, retryOnTimeout: true };
const GOT_HEALED = { limit: 5, methods: ["POST"], statusCodes: AGAIN, errorCodes: ["ECONNRESET", "ETIMEDOUT", "ERR_HTTP_CONTENT_LENGTH_MISMATCH"] };
const UNDICI_HEALED = { methods: ["POST"], statusCodes: AGAIN, minTimeout: 10, maxRetries: 5, errorCodes: ["ECONNRESET", "UND_ERR_SOCKET"] };

function retryingAxios(options) {
  const client = axios.create();
  axiosRetry(client, { retries: 5, ...options });
  return client;
}

const SETTINGS = {
  fetch: async (url) => whole(await fetch(url, plainInit(url))),
  "ky": async (url) => whole(await ky(url, plainInit(url))),
  "ky, healed": async (url) => whole(await ky(url, { ...plainInit(url), retry: KY_HEALED })),
  "ky, key in beforeRequest": async (url) => {
    const hooks = { beforeRequest: [({ request }) => request.headers.set("idempotency-key", newKey())] };
    return whole(await ky(url, { ...plainInit(url), retry: KY_HEALED, hooks }));
  },
  "got": async (url) => (await got(url, plainInit(url))).statusCode,
  "got, healed": async (url) => {
    return (await got(url, { ...plainInit(url), retry: GOT_HEALED })).statusCode;
  },
  "got, key in beforeRequest": async (url) => {
    const hooks = { beforeRequest: [(options) => void (options.headers["idempotency-key"] = newKey())] };
    return (await got(url, { ...plainInit(url), retry: GOT_HEALED, hooks })).statusCode;
  },
  "axios": async (url) => byAxios(url, axios.create()),
  "axios-retry": async (url) => byAxios(url, retryingAxios({})),
  "axios-retry, healed": async (url) => byAxios(url, retryingAxios({ retryDelay: axiosRetry.exponentialDelay, retryCondition: healing })),
  "axios-retry, key in an interceptor": async (url) => {
    const client = retryingAxios({ retryCondition: healing });
    client.interceptors.request.use((config) => {
      config.headers.set("idempotency-key", newKey());
      return config;
    });
    return byAxios(url, client, {});
  },
  "undici": async (url) => byUndici(url, new Agent()),
  "undici, RetryAgent": async (url) => byUndici(url, new RetryAgent(new Agent())),
  "undici, RetryAgent, healed": async (url) => byUndici(url, new RetryAgent(new Agent(), UNDICI_HEALED)),
  "undici, interceptors.retry, healed": async (url) => byUndici(url, new Agent().compose(interceptors.retry(UNDICI_HEALED))),
};

/** An answer that breaks off is an error with the response's status, 201. */
function healing(error) {
  const status = error.response?.status;
  return error.code !== "ERR_CANCELED" && (status === undefined || status < 300 || AGAIN.includes(status));
}

const [setting, ...urls] = process.argv.slice(2);
for (const url of urls) {
  try {
    console.log(await SETTINGS[setting](url));
  } catch (error) {
    const status = error.response?.status ?? error.response?.statusCode ?? error.statusCode;
    console.log(status >= 400 ? status : "error");
  }
}
process.exit(0);
