/** A running cluster with records in it, and requests to it by the names of operations. */
import { served } from "@event-anchoring/testkit/clients";
import { TestOperator, startTestCluster } from "@event-anchoring/testkit/cluster";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { openApiDocument } from "../../packages/api-contract/src/openapi/document.ts";
import { OpenApiReader } from "@event-anchoring/testkit/openapi";
import type { Operation } from "@event-anchoring/testkit/openapi";
import { ConformanceJudge } from "./conformance.ts";
import { HttpSender } from "./http.ts";
import type { Received } from "./http.ts";

export interface Asked {
  /** Path parameters by name. */
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  /** JSON, or the text of a body as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** null: none. Absent: one with every scope. */
  readonly key?: string | null;
  /** Base address of another node than the first. */
  readonly nodeUrl?: string;
}

export interface Answered {
  readonly received: Received;
  readonly status: number;
  /** Judged by the document. */
  readonly body: AnyBody;
}

/** The fields of any answer that tests look at one by one. */
export interface AnyBody {
  readonly anchor?: {
    readonly anchor_id: string;
    readonly kind: string;
    readonly finality: string;
    readonly entity_fingerprint?: string;
  };
  readonly anchor_id?: string;
  readonly code?: string;
  readonly errors?: readonly { readonly pointer?: string; readonly code: string }[];
  readonly receipt?: unknown;
  readonly tree_size?: number;
  readonly valid?: boolean;
}

/** Names of keys that tests use: what they may do. */
export interface TestKeys {
  readonly all: string;
  /** May do what `all` may, as another API client. */
  readonly another: string;
  readonly readOnly: string;
  readonly writeOnly: string;
  /** Two requests each second. */
  readonly slow: string;
}

export class ContractCluster {
  readonly setup: TestCluster;
  readonly keys: TestKeys;
  readonly sender: HttpSender;
  readonly judge = new ConformanceJudge(new OpenApiReader(openApiDocument()));
  readonly origin: string;

  private constructor(setup: TestCluster, keys: TestKeys) {
    const [first] = setup.cluster.file.nodes;
    if (first === undefined) throw new Error("a cluster has nodes");
    this.setup = setup;
    this.keys = keys;
    this.sender = new HttpSender(first.api_url);
    this.origin = first.origin_fingerprint;
  }

  static async start(): Promise<ContractCluster> {
    const setup = await startTestCluster();
    const operator = await TestOperator.of(setup);
    const make = async (
      label: string,
      scopes: ("read" | "write" | "revoke" | "admin")[],
      rate = 0,
    ): Promise<string> => {
      const { apiKey } = await operator.createKey({
        label,
        scopes,
        ...(rate === 0 ? {} : { requestsPerSecond: rate }),
      });
      return apiKey;
    };
    const keys = {
      all: await make("all", ["read", "write", "revoke", "admin"]),
      another: await make("another", ["read", "write", "revoke", "admin"]),
      readOnly: await make("reader", ["read"]),
      writeOnly: await make("writer", ["write"]),
      slow: await make("slow", ["read"], 2),
    };
    return new ContractCluster(setup, keys);
  }

  async stop(): Promise<void> {
    this.sender.close();
    await this.setup.erase();
  }

  operation(id: string): Operation {
    return this.judge.reader.operation(id);
  }

  /** @throws NonconformingError if the answer is not one that the document describes */
  async ask(id: string, asked: Asked = {}): Promise<Answered> {
    const operation = this.operation(id);
    const sender = asked.nodeUrl === undefined ? this.sender : new HttpSender(asked.nodeUrl);
    const received = await sender.send({
      method: operation.method,
      target: targetOf(operation, asked),
      headers: { ...this.#headers(operation, asked), ...asked.headers },
      ...(asked.body === undefined ? {} : { body: textOf(asked.body) }),
    });
    if (sender !== this.sender) sender.close();
    const body = this.judge.judge(operation, received);
    return { received, status: received.status, body: typeof body === "object" && body !== null ? body : {} };
  }

  /** As `ask`; what a busy node could not serve is asked again. */
  served(id: string, asked: Asked = {}): Promise<Answered> {
    return served(() => this.ask(id, asked));
  }

  /** The status has to be this one. */
  async expect(status: number, id: string, asked: Asked = {}): Promise<AnyBody> {
    const { status: given, body } = await (status === 503 ? this.ask(id, asked) : this.served(id, asked));
    if (given !== status) throw new Error(`${id} was answered ${given}, not ${status}: ${JSON.stringify(body)}`);
    return body;
  }

  #headers(operation: Operation, { key, body }: Asked): Record<string, string> {
    const shown = key === undefined ? this.keys.all : key;
    const isKeyed = shown !== null && !operation.isPublic;
    const isPreferring = operation.parameters.some(({ name }) => name === "Prefer");
    return {
      ...(isPreferring ? { prefer: "wait=30" } : {}),
      ...(isKeyed ? { authorization: `Bearer ${shown}` } : {}),
      ...(body === undefined ? {} : { "content-type": "application/json" }),
    };
  }
}

function textOf(body: unknown): string {
  return typeof body === "string" ? body : JSON.stringify(body);
}

export function targetOf(operation: Operation, { path = {}, query = {} }: Asked): string {
  const place = operation.path.replaceAll(/\{(\w+)\}/g, (_all, name: string) => path[name] ?? "");
  const pairs = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
  return pairs.length === 0 ? place : `${place}?${pairs.join("&")}`;
}
