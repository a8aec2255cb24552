/** Clients that write and read all the time and note everything that they are told, failures above all. */
import { createHash, randomUUID } from "node:crypto";
import { Client } from "@event-anchoring/sdk";
import { until } from "@event-anchoring/testkit";
import type { Acknowledged } from "@event-anchoring/testkit/clients";
import type { GatewayAnswer, GatewayClient } from "../deploy/gateway-client.ts";

/** What one asking came to. */
interface Noted {
  readonly tookMs: number;
  /** When it ended, on this process's monotonic clock. */
  readonly endedMs: number;
}

/** What has been noted of one kind of client. */
export class Notes {
  /** How often each answer came that was not as it should be, by what it said. */
  readonly failures = new Map<string, number>();
  readonly #good: Noted[] = [];

  get count(): number {
    return this.#good.length;
  }

  /** Good or not. */
  get answers(): number {
    return [...this.failures.values()].reduce((sum, count) => sum + count, this.count);
  }

  async measure(ask: () => Promise<string | null>): Promise<void> {
    const startedMs = performance.now();
    const failure = await ask().catch((error: unknown) => String(error));
    const endedMs = performance.now();
    if (failure === null) this.#good.push({ tookMs: endedMs - startedMs, endedMs });
    else this.failures.set(failure, (this.failures.get(failure) ?? 0) + 1);
  }

  get longestMs(): number {
    return Math.max(...this.#good.map(({ tookMs }) => tookMs));
  }

  /** The longest time in which nobody of this kind had a good answer. */
  get longestGapMs(): number {
    const ends = this.#good.map(({ endedMs }) => endedMs);
    return Math.max(...ends.map((end, at) => end - (ends[at - 1] ?? end)));
  }
}

interface Created {
  readonly anchor: { readonly anchor_id: string; readonly sequence: number; readonly depth: number };
  readonly receipt: unknown;
}

export interface SteadyOptions {
  readonly gateway: GatewayClient;
  readonly apiKey: string;
  readonly endpoints: readonly string[];
  readonly origins: readonly string[];
}

/** Each kind of client runs until `stop`. Nobody but the SDK asks twice. */
export class SteadyClients {
  /** Writers behind the gateway: one asking for each event, whatever comes. */
  readonly writes = new Notes();
  /** Readers behind the gateway, likewise. */
  readonly reads = new Notes();
  /** Writers with the SDK, which know the nodes' own addresses and fail over by themselves. */
  readonly sdk = new Notes();
  readonly acknowledged: Acknowledged[] = [];
  readonly #options: SteadyOptions;
  readonly #runs: Promise<unknown>;
  #isWanted = true;

  private constructor(options: SteadyOptions) {
    this.#options = options;
    const runs: Promise<void>[] = [];
    for (let client = 0; client < 4; client++) runs.push(this.#loop(this.writes, () => this.#write(client)));
    for (let client = 0; client < 3; client++) runs.push(this.#loop(this.reads, () => this.#read(client)));
    for (let client = 0; client < 2; client++) {
      const { apiKey, endpoints } = options;
      // Each begins at another node.
      const own = [...endpoints.slice(client), ...endpoints.slice(0, client)];
      const sdk = new Client({ endpoints: own, apiKey });
      runs.push(this.#loop(this.sdk, () => this.#writeWith(sdk, client)));
    }
    this.#runs = Promise.all(runs);
  }

  static start(options: SteadyOptions): SteadyClients {
    return new SteadyClients(options);
  }

  /** Waits until each kind has had so many more answers. */
  async more(count: number): Promise<void> {
    const kinds = [this.writes, this.reads, this.sdk];
    const goals = kinds.map((notes) => notes.answers + count);
    await until(
      `${count} more answers for each kind of client`,
      () => kinds.every((notes, at) => notes.answers >= (goals[at] ?? 0)),
      180_000,
    );
  }

  async stop(): Promise<void> {
    this.#isWanted = false;
    await this.#runs;
  }

  async #loop(notes: Notes, ask: () => Promise<string | null>): Promise<void> {
    while (this.#isWanted) await notes.measure(ask);
  }

  async #write(client: number): Promise<string | null> {
    const { gateway, origins } = this.#options;
    const clientEventId = randomUUID();
    const eventHash = hashOf(clientEventId);
    const originFingerprint = origins[client % origins.length] ?? "";
    const body = { origin_fingerprint: originFingerprint, event_hash: eventHash, client_event_id: clientEventId };
    const answer = await gateway.ask({
      method: "POST",
      path: "/v1/event-anchors",
      headers: { ...this.#headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (answer.status !== 201) return said(answer);
    const { anchor, receipt } = JSON.parse(answer.text) as Created;
    this.#keep({ clientEventId, eventHash, originFingerprint }, anchor, receipt);
    return null;
  }

  async #read(client: number): Promise<string | null> {
    const { gateway, origins } = this.#options;
    const known = this.acknowledged.at(-1)?.anchorId;
    const origin = origins[client % origins.length] ?? "";
    const latest = `/v1/event-anchors/latest?origin_fingerprint=${origin}`;
    const path = client === 0 && known !== undefined ? `/v1/event-anchors/${known}` : latest;
    const answer = await gateway.ask({ path, headers: this.#headers });
    return answer.status === 200 ? null : said(answer);
  }

  async #writeWith(sdk: Client, client: number): Promise<string | null> {
    const { origins } = this.#options;
    const clientEventId = randomUUID();
    const eventHash = hashOf(clientEventId);
    const originFingerprint = origins[client % origins.length] ?? "";
    const { anchor, receipt } = await sdk.createEventAnchor(eventHash, { clientEventId, originFingerprint });
    const { anchorId, sequence, depth } = anchor;
    const json: unknown = JSON.parse(JSON.stringify(receipt));
    this.#keep({ clientEventId, eventHash, originFingerprint }, { anchor_id: anchorId, sequence, depth }, json);
    return null;
  }

  get #headers(): { readonly authorization: string } {
    return { authorization: `Bearer ${this.#options.apiKey}` };
  }

  #keep(
    asked: Pick<Acknowledged, "clientEventId" | "eventHash" | "originFingerprint">,
    { anchor_id: anchorId, sequence, depth }: Created["anchor"],
    receipt: unknown,
  ): void {
    this.acknowledged.push({ ...asked, anchorId, sequence, depth, receipt, tookMs: 0, tries: 1 });
  }
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");

const said = ({ status, text }: GatewayAnswer): string => `${status} ${text.replace(/"request_id":"[^"]*"/u, "")}`;
