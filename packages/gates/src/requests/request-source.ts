import fc from "fast-check";
import { Seeded } from "@event-anchoring/simulator";
import { ValueMaker, requestsTo } from "@event-anchoring/testkit/openapi";
import type { GeneratedRequest, KnownValues, OpenApiReader, Operation } from "@event-anchoring/testkit/openapi";
import { mutated } from "../mutations/mutate.ts";

/** A request as its bytes will be. */
export interface MadeRequest {
  readonly seed: number;
  /** Which operation, and what was done to it. */
  readonly kind: string;
  /** Whether it is whole HTTP, so that it has to be answered. Other bytes may be left unanswered. */
  readonly isFramed: boolean;
  readonly bytes: Buffer;
  /** How a node finds its route: by a look-up of method and target, or by Express. */
  readonly way: "by the look-up" | "by the router";
}

export interface RequestSourceOptions {
  readonly reader: OpenApiReader;
  readonly known: KnownValues;
  readonly apiKey: string;
  /** Value of the Host header. */
  readonly host: string;
}

/** Requests that are generated together: to an operation, and to one that takes neither parameters nor a body. */
const GENERATED = 40;
/** There are only some hundred different ones of these. */
const GENERATED_BARE = 5;
const OTHER_KEYS = ["", "Bearer", "Bearer x", "Basic YTpi", `Bearer ${"0".repeat(64)}`];
const OTHER_TYPES = ["text/plain", "application/jsonx", "application/json; charset=latin1", "multipart/form-data", ""];
const OTHER_METHODS = ["POST", "GET", "PUT", "DELETE", "PATCH", "OPTIONS"];

/** What was done to a generated request; `as generated` twice, and once for the router of the long way. */
const CHANGES = [
  "as generated",
  "as generated",
  "absolute target",
  "body",
  "body bytes",
  "target",
  "headers",
  "raw",
] as const;
type Change = (typeof CHANGES)[number];

interface Maker {
  readonly operation: Operation;
  readonly requests: fc.Arbitrary<GeneratedRequest>;
  /** How many are generated together. */
  readonly count: number;
}

interface Drawn {
  readonly operation: Operation;
  readonly generated: GeneratedRequest;
}

/** Requests by seed, each generated for its seed alone. The same seed, known values and key are the same bytes. */
export class RequestSource {
  readonly #options: RequestSourceOptions;
  readonly #makers: readonly Maker[];
  /** Seeds of a block: each has one of the requests that are generated together. */
  readonly #blockSeeds: number;
  /** Methods and targets that a node finds by a look-up. */
  readonly #lookedUp: ReadonlySet<string>;
  #block: { readonly number: number; readonly drawn: readonly Drawn[] } = { number: -1, drawn: [] };

  constructor(options: RequestSourceOptions) {
    const values = new ValueMaker(options.reader, options.known);
    this.#options = options;
    this.#makers = options.reader.operations.map((operation) => {
      const isBare = operation.parameters.every(({ in: place }) => place === "header") && operation.body === null;
      return { operation, requests: requestsTo(operation, values), count: isBare ? GENERATED_BARE : GENERATED };
    });
    this.#blockSeeds = this.#makers.reduce((sum, { count }) => sum + count, 0);
    const fixed = options.reader.operations.filter(({ path }) => !path.includes("{"));
    this.#lookedUp = new Set(fixed.map(({ method, path }) => `${method} ${path}`));
  }

  request(seed: number): MadeRequest {
    const dice = new Seeded(seed, 17);
    const { operation, generated } = this.#drawn(seed);
    const change = dice.pick(CHANGES);
    const parts = this.#parts(operation, generated, change, dice);
    const bytes = Buffer.concat([Buffer.from(headOf(parts), "latin1"), parts.body]);
    const kind = `${operation.id}, ${change}`;
    const way = this.#lookedUp.has(`${parts.method} ${parts.target}`) ? "by the look-up" : "by the router";
    if (change === "raw") return { seed, kind, isFramed: false, bytes: spoiledBytes(bytes, dice), way };
    return { seed, kind, isFramed: true, bytes, way };
  }

  #drawn(seed: number): Drawn {
    const number = Math.floor(seed / this.#blockSeeds);
    if (this.#block.number !== number) this.#block = { number, drawn: this.#drawBlock(number) };
    const drawn = this.#block.drawn[seed % this.#blockSeeds];
    if (drawn === undefined) throw new RangeError(`${seed} is no seed`);
    return drawn;
  }

  /** In an order by the dice, so that requests to all operations are under way at once. */
  #drawBlock(number: number): readonly Drawn[] {
    const drawn = this.#makers.flatMap(({ operation, requests, count }) =>
      fc.sample(requests, { seed: number, numRuns: count }).map((generated) => ({ operation, generated })),
    );
    const dice = new Seeded(number, 18);
    return drawn
      .map((one) => ({ one, at: dice.u32() }))
      .sort((a, b) => a.at - b.at)
      .map(({ one }) => one);
  }

  #parts(operation: Operation, generated: GeneratedRequest, change: Change, dice: Seeded): Parts {
    const { apiKey, host } = this.#options;
    const plain = targetOf(operation, generated);
    const target =
      change === "target" ? mutated(plain, dice) : change === "absolute target" ? `http://${host}${plain}` : plain;
    const text = generated.body === undefined ? "" : JSON.stringify(generated.body);
    const body = bodyOf(text, change, dice);
    const headers: Record<string, string> = {
      host,
      authorization: `Bearer ${apiKey}`,
      ...generated.headers,
      ...(operation.method === "POST" || body.length > 0
        ? { "content-type": "application/json", "content-length": String(body.length) }
        : {}),
    };
    if (change !== "headers") return { method: operation.method, target: onOneLine(target), headers, body };
    const method = dice.chance(0.2) ? dice.pick(OTHER_METHODS) : operation.method;
    return { method, target: onOneLine(target), headers: otherHeaders(headers, dice), body };
  }
}

interface Parts {
  readonly method: string;
  readonly target: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

function targetOf(operation: Operation, { path, query }: GeneratedRequest): string {
  const place = operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => path[name] ?? "");
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(wellFormed(value))}`);
  return pairs.length === 0 ? place : `${place}?${pairs.join("&")}`;
}

/** A lone surrogate has no bytes of UTF-8. */
function wellFormed(text: string): string {
  return Buffer.from(text, "utf8").toString("utf8");
}

function bodyOf(text: string, change: Change, dice: Seeded): Buffer {
  if (change === "body" && text.length > 0) return Buffer.from(mutated(text, dice), "utf8");
  const bytes = Buffer.from(text, "utf8");
  return change === "body bytes" && bytes.length > 0 ? spoiledBytes(bytes, dice) : bytes;
}

/** A space or a line break would end the target: the request would be another one, and not framed any more. */
function onOneLine(text: string): string {
  const bytes = Buffer.from(text, "utf8").toString("latin1");
  const safe = bytes.replaceAll(
    /[^!-~\u0080-\u00ff]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
  return safe.startsWith("/") || safe.startsWith("http") ? safe : `/${safe}`;
}

/** One header changed; those that frame the request stay. */
function otherHeaders(headers: Readonly<Record<string, string>>, dice: Seeded): Record<string, string> {
  switch (dice.below(5)) {
    case 0:
      return { ...headers, authorization: dice.pick(OTHER_KEYS) };
    case 1:
      return { ...headers, "content-type": dice.pick(OTHER_TYPES) };
    case 2:
      return { ...headers, "content-encoding": "gzip" };
    case 3:
      return { ...headers, [`x-${dice.u32()}`]: "x".repeat(dice.below(9000)) };
    default:
      return { ...headers, prefer: onOneLine(mutated(headers["prefer"] ?? "wait=1", dice)) };
  }
}

function headOf({ method, target, headers }: Parts): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${method} ${target} HTTP/1.1\r\n${lines.join("")}\r\n`;
}

/** Up to eight bytes are other ones, some are missing, or some are there twice. */
function spoiledBytes(bytes: Buffer, dice: Seeded): Buffer {
  const at = dice.below(bytes.length);
  const span = 1 + dice.below(40);
  switch (dice.below(3)) {
    case 0:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + span)]);
    case 1:
      return Buffer.concat([bytes.subarray(0, at + span), bytes.subarray(at)]);
    default: {
      const other = Buffer.from(bytes);
      for (let times = 1 + dice.below(8); times > 0; times--) other[dice.below(bytes.length)] = dice.below(256);
      return other;
    }
  }
}
