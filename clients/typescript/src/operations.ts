/** Whether an operation takes a key. */
export type Mark = "required" | "optional" | undefined;

/** Says which requests get a key. */
export interface Operations {
  /** Returns the mark of the request's operation. `path` has no query, and `method` is in upper case. */
  mark(method: string, path: string): Mark;
  /** Returns the mark of an operation that is named by its path in the document (`/orders/{id}`). */
  markOfTemplate(method: string, template: string): Mark;
}

/** The parts of an OpenAPI 3 document that are read. */
export interface OpenApiDocument {
  servers?: readonly { url?: string }[] | undefined;
  paths?: Readonly<Record<string, unknown>> | undefined;
  components?: { parameters?: Readonly<Record<string, unknown>> | undefined } | undefined;
}

/** The methods without an effect (RFC 9110, section 9.2.1). They never get a key. */
const SAFE = ["GET", "HEAD", "OPTIONS", "TRACE", "QUERY"];

/** Returns whether the method asks for no effect. */
export function isSafe(method: string): boolean {
  return SAFE.includes(method.toUpperCase());
}

type Fields = Record<string, unknown>;

/** One path of a document. */
interface Path {
  template: string;
  pattern: RegExp;
  /** How many of its segments are literal: `/orders/today` is preferred to `/orders/{id}`. */
  literals: number;
  marks: Map<string, Mark>;
}

/**
 * Returns the operations that the document marks: by `x-idempotency`, or by the header `Idempotency-Key` among
 * their parameters.
 *
 * `base` is the path before those of the document, such as `/api/v2`; by default it is that of the document's first
 * server.
 */
export function fromOpenApi(document: OpenApiDocument, base: string = pathOfServer(document)): Operations {
  const prefix = base.replace(/\/+$/, "");
  const paths = Object.entries(document.paths ?? {}).map(([template, item]) => read(document, template, item));
  paths.sort((one, other) => other.literals - one.literals);
  return {
    mark(method, path) {
      if (isSafe(method) || (prefix !== "" && !path.startsWith(`${prefix}/`))) {
        return undefined;
      }
      const rest = path.slice(prefix.length);
      const found = paths.find((candidate) => candidate.pattern.test(rest));
      return found?.marks.get(method.toUpperCase());
    },
    markOfTemplate(method, template) {
      const found = paths.find((candidate) => candidate.template === template);
      return isSafe(method) ? undefined : found?.marks.get(method.toUpperCase());
    },
  };
}

/** Returns the operations of a service without a document: every request that is not safe takes a key. */
export function everyUnsafeMethod(): Operations {
  const mark = (method: string): Mark => (isSafe(method) ? undefined : "optional");
  return { mark, markOfTemplate: mark };
}

function read(document: OpenApiDocument, template: string, item: unknown): Path {
  const segments = template.split("/");
  const pattern = template.split(/\{[^{}]*\}/).map(escape).join("[^/]+");
  const shared = parameterMark(document, item);
  const marks = new Map<string, Mark>();
  for (const [method, operation] of Object.entries(fields(item))) {
    marks.set(method.toUpperCase(), ownMark(operation) ?? parameterMark(document, operation) ?? shared);
  }
  return {
    template,
    pattern: new RegExp(`^${pattern}$`),
    literals: segments.filter((segment) => !segment.includes("{")).length,
    marks,
  };
}

/** Reads `x-idempotency`: `{"key": "required"}`. */
function ownMark(operation: unknown): Mark {
  const mark = fields(fields(operation)["x-idempotency"])["key"];
  return mark === "required" || mark === "optional" ? mark : undefined;
}

function parameterMark(document: OpenApiDocument, holder: unknown): Mark {
  const parameters = fields(holder)["parameters"];
  for (const parameter of Array.isArray(parameters) ? parameters : []) {
    const { in: place, name, required } = fields(resolve(document, parameter));
    if (place === "header" && typeof name === "string" && name.toLowerCase() === "idempotency-key") {
      return required === true ? "required" : "optional";
    }
  }
  return undefined;
}

function resolve(document: OpenApiDocument, parameter: unknown): unknown {
  const reference = fields(parameter)["$ref"];
  if (typeof reference !== "string") {
    return parameter;
  }
  const name = reference.replace(/^#\/components\/parameters\//, "");
  return document.components?.parameters?.[name];
}

function pathOfServer(document: OpenApiDocument): string {
  const url = document.servers?.[0]?.url ?? "";
  return url.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/]*/i, "");
}

function fields(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function escape(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&");
}
