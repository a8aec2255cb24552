import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  ZERO_32,
  bytesToHex,
  clientEventCommit,
  decodeLeaf,
  hexToBytes,
  receiptToJson,
} from "@event-anchoring/protocol";
import type { SemanticAnchor } from "@event-anchoring/protocol";
import { createReceiptMaker } from "./receipt-maker.ts";

type Json = Readonly<Record<string, unknown>>;

const { sha256 } = nodeCrypto;
const SALT = "5a".repeat(32);
const HEALTHY = {
  status: "ok",
  node_id: "n1",
  cluster_id: "c1".repeat(32),
  prime_root_thk: {
    role: "prime",
    version: 1,
    root_thk: null,
    prime_version: 1,
    in_sync: true,
    last_success_at: null,
    age_seconds: null,
    expires_at: null,
    last_error: null,
  },
  versions: { api_contract: "4.2", locked_code: "V4.2", service: "4.2.0" },
};
const REFERENCES = {
  irisRef: "iris_ref",
  scrollRef: "scroll_ref",
  grantRef: "grant_ref",
  bondRef: "bond_ref",
  yieldRef: "yield_ref",
  eventDataHash: "event_data_hash",
} as const satisfies Record<keyof SemanticAnchor, string>;

/**
 * A service on paper, over HTTP: it anchors unsigned events, each `client_event_id` once, with real receipts under the
 * trust root of a ceremony. For programs that record, where no cluster is needed.
 */
export class EventService {
  readonly #maker = createReceiptMaker();
  readonly #server: Server;
  readonly #items = new Map<string, Json>();
  /** How many events were in each batch. */
  readonly batches: number[] = [];

  private constructor() {
    this.#server = createServer((request, response) => {
      void readJson(request).then((body) => {
        const answer = this.#answer(request.url ?? "", body);
        const [status, content] = answer === null ? [404, { code: "route_not_found" }] : [200, answer];
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(content));
      });
    });
  }

  static async start(): Promise<EventService> {
    const service = new EventService();
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Trust-root version 1, a signed note, and its root_thk, with which receipts verify. */
  get trustRoot(): { readonly document: string; readonly rootThk: Uint8Array } {
    return { document: this.#maker.trustRootDocument, rootThk: this.#maker.rootThk };
  }

  /** Hashes of the events, in hex, by their client_event_id. */
  get eventHashes(): ReadonlyMap<string, string> {
    return new Map([...this.#items].map(([id, { anchor }]) => [id, String((anchor as Json)["event_hash"])]));
  }

  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  #answer(path: string, body: Json): object | null {
    if (path === "/healthz") return { ...HEALTHY, origin_fingerprint: bytesToHex(this.#maker.originFingerprint) };
    if (path !== "/v1/event-anchors/batch") return null;
    const events = body["events"] as readonly Json[];
    this.batches.push(events.length);
    const results = events.map((event) => this.#item(event));
    const summary = { total: events.length, created: events.length, replayed: 0, committed: 0, refused: 0 };
    return { results, summary };
  }

  #item(event: Json): Json {
    const id = String(event["client_event_id"]);
    const known = this.#items.get(id);
    if (known !== undefined) return { ...known, status: 200, replayed: true };
    const commit = clientEventCommit(hexToBytes(SALT, 32), id, sha256);
    const semanticAnchor = semanticAnchorOf((event["semantic_anchor"] ?? {}) as Json);
    const eventHash = hexToBytes(String(event["event_hash"]), 32);
    const receipt = receiptToJson(this.#maker.receipt(eventHash, { semanticAnchor, commit }), 1, sha256);
    const leaf = decodeLeaf(Buffer.from(receipt.leaf, "base64"));
    const refs = Object.entries(REFERENCES).map(([name, wire]): readonly [string, string | null] => {
      return [wire, hexOf(semanticAnchor[name as keyof SemanticAnchor])];
    });
    const anchor = {
      kind: "event",
      anchor_id: receipt.anchor_id,
      origin_fingerprint: bytesToHex(leaf.originFingerprint),
      depth: leaf.depth,
      parent_anchor_id: bytesToHex(leaf.parentAnchorId),
      sequence: leaf.sequence,
      accepted_ms: leaf.acceptedMs,
      accepted_at: new Date(leaf.acceptedMs).toISOString(),
      finality: "certified",
      event_hash: event["event_hash"],
      semantic_anchor: refs.every(([, ref]) => ref === null) ? null : Object.fromEntries(refs),
      client_event_commit: bytesToHex(commit),
      client_event_id: id,
      client_event_salt: SALT,
      client_event_erased: false,
    };
    const item = { status: 201, anchor, receipt, replayed: false };
    this.#items.set(id, item);
    return item;
  }
}

function semanticAnchorOf(refs: Json): SemanticAnchor {
  const entries = Object.entries(REFERENCES).map(([name, wire]) => {
    const ref = refs[wire];
    return [name, typeof ref === "string" ? hexToBytes(ref, 32) : ZERO_32];
  });
  return Object.fromEntries(entries) as SemanticAnchor;
}

function hexOf(reference: Uint8Array): string | null {
  return reference.some((byte) => byte !== 0) ? bytesToHex(reference) : null;
}

async function readJson(request: IncomingMessage): Promise<Json> {
  const text = Buffer.concat((await request.toArray()) as Buffer[]).toString("utf8");
  return text === "" ? {} : (JSON.parse(text) as Json);
}
