/** A node as the page meets it: the page, and what Browse asks. It tells the truth until a test asks otherwise. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { bytesToBase64, bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { ENTITY, ORIGIN, ceremony, checkpointOf, consistencyOf, history, idAt, receiptOf } from "./stub-log.ts";

export const KEY = "eak_a-key-that-must-stay-in-memory_0123456789";

interface Refusal {
  readonly status: number;
  readonly code: string;
  readonly retryAfter?: number;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

function json(value: object, status = 200): Answer {
  return { status, type: "application/json", body: JSON.stringify(value) };
}

function problem({ status, code, retryAfter }: Refusal): Answer {
  const body = JSON.stringify({ title: code, status, code, detail: `${code}, says the stub to ${KEY}` });
  const headers = retryAfter === undefined ? {} : { "Retry-After": String(retryAfter) };
  return { status, type: "application/problem+json", body, headers };
}

const CLAIMS_AT_A_TIME = 1;

export class StubNode {
  /** What the log shows now. */
  leaves = history(5);
  cosigners = 2;
  documents: readonly string[] = [ceremony.document];
  /** Instead of the right proof. */
  proof: readonly Uint8Array[] | null = null;
  /** Whether it shows the log to who has no key. */
  isPublic = false;
  /** The first leaves of the log whose full tile is all that there is of tiles; null: there is the partial one. */
  fullTile: readonly Uint8Array[] | null = null;
  /** Whether it says that its tree is smaller than one that is asked about, as the API does. */
  admitsRollback = false;
  /** Instead of any answer of the API. */
  refuses: Refusal | null = null;
  /** Whether connections are cut instead of answered. */
  isDown = false;
  /** What was asked, and with which key. */
  readonly asked: { readonly path: string; readonly authorization: string | undefined }[] = [];
  readonly #server: Server;
  readonly #page: Buffer;

  private constructor(pageFile: string) {
    this.#page = readFileSync(pageFile);
    this.#server = createServer((request, response) => this.#serve(request, response));
  }

  static async start(pageFile: string): Promise<StubNode> {
    const node = new StubNode(pageFile);
    node.#server.listen(0, "127.0.0.1");
    await once(node.#server, "listening");
    return node;
  }

  get address(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  /** How often the log was looked at. */
  get looks(): number {
    return this.asked.filter(({ path }) => path.startsWith("/v1/event-anchors/latest")).length;
  }

  #serve(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? "/", this.address);
    const isPage = url.pathname === "/" || url.pathname === "/verify";
    if (this.isDown && !isPage) {
      request.socket.destroy();
      return;
    }
    if (!isPage)
      this.asked.push({ path: `${url.pathname}${url.search}`, authorization: request.headers.authorization });
    const { status, type, body, headers } = isPage ? this.#pageAnswer() : this.#apiAnswer(request, url);
    response.writeHead(status, { "Content-Type": type, "X-Content-Type-Options": "nosniff", ...headers });
    response.end(body);
  }

  #pageAnswer(): Answer {
    const body = this.#page.toString("utf8");
    const [, policy = ""] = /<meta\s+http-equiv="Content-Security-Policy"\s+content="([^"]+)"/u.exec(body) ?? [];
    const headers = { "Content-Security-Policy": `${policy}; frame-ancestors 'none'` };
    return { status: 200, type: "text/html; charset=utf-8", body, headers };
  }

  #apiAnswer(request: IncomingMessage, { pathname, searchParams }: URL): Answer {
    if (this.refuses !== null) return problem(this.refuses);
    if (pathname === "/v1/trust-root") return json({ chain: this.#trustRoots() });
    if (pathname === "/healthz") return json(this.#health());
    if (pathname === "/readyz") return json(READINESS, 503);
    const isOpen = this.isPublic && /^\/v1\/(origins\/|event-anchors\/[0-9a-f]{64}\/receipt$)/u.test(pathname);
    if (!isOpen && request.headers.authorization !== `Bearer ${KEY}`) {
      return problem({ status: 401, code: "api_key_invalid" });
    }
    if (pathname === "/v1/event-anchors/latest") return this.#latest(searchParams);
    if (pathname.startsWith("/v1/origins/")) return this.#log(pathname);
    if (pathname === "/v1/claim-anchors") return this.#claims(searchParams);
    if (pathname === "/v1/grant-anchors") return json({ items: [], next_cursor: null });
    const [, id = ""] = /^\/v1\/event-anchors\/([0-9a-f]{64})\/receipt$/u.exec(pathname) ?? [];
    return this.#anchor(id);
  }

  #trustRoots(): object[] {
    return this.documents.map((document, at) => ({
      version: at + 1,
      root_thk: bytesToHex(ceremony.rootThk),
      document,
    }));
  }

  #latest(query: URLSearchParams): Answer {
    if (query.get("origin_fingerprint") !== ORIGIN) return problem({ status: 404, code: "no_anchor_yet" });
    const fromSize = Number(query.get("from_size") ?? 0);
    const treeSize = this.leaves.length;
    if (fromSize > treeSize && this.admitsRollback) return problem({ status: 409, code: "from_size_ahead" });
    const proof = fromSize > 0 && fromSize <= treeSize ? (this.proof ?? consistencyOf(this.leaves, fromSize)) : null;
    return json({
      origin_fingerprint: ORIGIN,
      checkpoint: checkpointOf(this.leaves, this.cosigners),
      ...(proof === null
        ? {}
        : { consistency: { from_size: fromSize, tree_size: treeSize, proof: proof.map(bytesToBase64) } }),
    });
  }

  /** Its checkpoint, or its only tile. */
  #log(pathname: string): Answer {
    const [, path = ""] = new RegExp(`^/v1/origins/${ORIGIN}/(.+)$`, "u").exec(pathname) ?? [];
    if (path === "") return problem({ status: 404, code: "no_anchor_yet" });
    const note = checkpointOf(this.leaves, this.cosigners);
    if (path === "checkpoint") return { status: 200, type: "text/plain", body: note };
    const leaves = this.fullTile ?? this.leaves;
    const name = this.fullTile === null ? `tile/0/000.p/${leaves.length}` : "tile/0/000";
    if (path !== name) return problem({ status: 404, code: "tile_not_found" });
    const hashes = leaves.map((_, at) => hexToBytes(idAt(leaves, at), 32));
    return { status: 200, type: "application/octet-stream", body: Buffer.concat(hashes) };
  }

  #anchor(id: string): Answer {
    const index = this.leaves.findIndex((_, at) => idAt(this.leaves, at) === id);
    if (index < 0) return problem({ status: 404, code: "anchor_not_found" });
    return json(receiptOf(this.leaves, index));
  }

  /** The one claim of the log, and one of the node's invention on the next page. */
  #claims(query: URLSearchParams): Answer {
    if (query.get("history") !== "true") return problem({ status: 400, code: "invalid_request" });
    if (query.get("entity_fingerprint") !== bytesToHex(ENTITY)) return json({ items: [], next_cursor: null });
    const isFirst = query.get("cursor") === null;
    const anchor = {
      anchor_id: isFirst ? idAt(this.leaves, 1) : "ab".repeat(32),
      kind: "claim",
      sequence: isFirst ? 4 : 9,
      accepted_ms: 1_790_000_000_001,
      state: isFirst ? "revoked" : "active",
    };
    const ended = isFirst ? { code: "claim_revoked", ended_by: "cd".repeat(32), sequence: 8 } : null;
    return json({ items: [{ anchor, ended }], next_cursor: isFirst ? `page ${CLAIMS_AT_A_TIME}+` : null });
  }

  #health(): object {
    return {
      status: "ok",
      node_id: "n1",
      prime_root_thk: { version: 1, in_sync: true, last_error: null },
      raft: { role: "follower", leader: "n2", applied_index: 12 },
      contradictions: { named: [], origins: [] },
      peers_cut_off: [{ node_id: "n3" }],
      versions: { service: "4.2.0" },
    };
  }
}

const READINESS = {
  ready: false,
  checks: [
    { check: "control_plane", result: "pass", detail: "connected" },
    { check: "storage", result: "fail", detail: "the disk is full" },
  ],
};
