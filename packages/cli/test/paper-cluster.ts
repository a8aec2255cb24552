import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  LEAF_KIND,
  REVOCATION_REASONS,
  ZERO_32,
  anchorIdOf,
  bytesToBase64,
  bytesToHex,
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  encodeLeaf,
  formatCheckpoint,
  formatNote,
  hexToBytes,
  interiorHash,
  logKeySeed,
  noteMessage,
  noteSignatureLine,
  proveConsistency,
  proveInclusion,
  receiptToJson,
  toAnchorId,
} from "@event-anchoring/protocol";
import type { ClaimBody, GrantBody, Leaf, LeafHeader } from "@event-anchoring/protocol";
import { threeNodeCeremony } from "@event-anchoring/testkit/receipts";

export type Json = Readonly<Record<string, unknown>>;

/** What a leaf holds besides its place. */
type Content<Of> = Of extends Leaf ? Omit<Of, keyof LeafHeader> : never;
export type LeafContent = Content<Leaf>;

export interface Reply {
  readonly status: number;
  readonly body: object;
  readonly headers?: Readonly<Record<string, string>>;
}

const { sha256 } = nodeCrypto;
const CLUSTER_NAME = "paper.test";
const ISSUED_S = 1_790_000_000;

/** One node on paper with one origin: real leaves, trees, receipts and proofs, and no rules about what it takes. */
export class PaperCluster {
  readonly ceremony = threeNodeCeremony(CLUSTER_NAME, ISSUED_S);
  leaves: Uint8Array[] = [];
  readonly asked: { readonly line: string; readonly body: Json }[] = [];
  /** What is recorded of an event, if not all of it. */
  forgets: (event: LeafContent) => LeafContent = (event) => event;
  /** Answers that are given once instead, by what is asked. */
  readonly once = new Map<string, Reply>();
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      void readBody(request).then((body) => {
        const line = `${request.method ?? ""} ${request.url ?? ""}`;
        this.asked.push({ line, body });
        const once = this.once.get(line);
        this.once.delete(line);
        const { status, body: answer, headers } = once ?? this.#answer(line, body);
        response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(answer));
      });
    });
    const { clusterId, rootThk } = this.ceremony;
    this.append({ kind: LEAF_KIND.genesis, clusterId, rootThk });
  }

  static async start(): Promise<PaperCluster> {
    const cluster = new PaperCluster();
    await new Promise<void>((resolve) => cluster.#server.listen(0, "127.0.0.1", resolve));
    return cluster;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get origin(): string {
    return bytesToHex(this.#node.originFingerprint);
  }

  get #node(): PaperCluster["ceremony"]["nodes"][number] {
    const [node] = this.ceremony.nodes;
    if (node === undefined) throw new Error("a ceremony has nodes");
    return node;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  append(body: LeafContent): string {
    const parent = this.leaves.at(-1);
    const leaf = encodeLeaf({
      ...body,
      originFingerprint: this.#node.originFingerprint,
      depth: this.leaves.length,
      parentAnchorId: parent === undefined ? toAnchorId(ZERO_32) : anchorIdOf(parent, sha256),
      sequence: this.leaves.length,
      acceptedMs: ISSUED_S * 1000 + this.leaves.length,
    });
    this.leaves.push(leaf);
    return bytesToHex(anchorIdOf(leaf, sha256));
  }

  appendEvent(eventHash: Uint8Array): string {
    return this.append({
      kind: LEAF_KIND.event,
      eventHash,
      semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
      clientEventCommit: ZERO_32,
    });
  }

  #hashAt = (level: number, index: number): Uint8Array => {
    const leaf = this.leaves[index];
    if (level === 0 && leaf !== undefined) return anchorIdOf(leaf, sha256);
    return interiorHash(this.#hashAt(level - 1, 2 * index), this.#hashAt(level - 1, 2 * index + 1), sha256);
  };

  #rootOf(size: number): Uint8Array {
    return rootOf(0, size, this.#hashAt);
  }

  checkpoint(size = this.leaves.length): string {
    const node = this.#node;
    const origin = checkpointOrigin(CLUSTER_NAME, node.originFingerprint);
    const text = formatCheckpoint({ origin, treeSize: size, rootHash: this.#rootOf(size) });
    const log = createSigner(logKeySeed(this.ceremony.logSeed, node.originFingerprint, sha256));
    const signature = log.sign(noteMessage(text));
    const cosigners = this.ceremony.nodes.slice(0, 2).map(({ nodeId, cosignerSeed }) => {
      const signer = createSigner(cosignerSeed);
      const signed = signer.sign(cosignatureMessage(ISSUED_S, text));
      const name = cosignerName(CLUSTER_NAME, nodeId);
      return cosignatureLine({ name, publicKey: signer.publicKey, timeS: ISSUED_S, signature: signed }, sha256);
    });
    return formatNote(text, [
      noteSignatureLine({ name: origin, publicKey: log.publicKey, signature }, sha256),
      ...cosigners,
    ]);
  }

  receipt(index: number): object {
    const leaf = this.leaves[index];
    if (leaf === undefined) throw new Error(`no leaf ${index}`);
    const treeSize = this.leaves.length;
    const path = proveInclusion(index, treeSize, this.#hashAt, sha256);
    return receiptToJson({ leaf, index, treeSize, path, checkpoint: this.checkpoint() }, 1, sha256);
  }

  #answer(line: string, body: Json): Reply {
    const [, id = ""] = /([0-9a-f]{64})(?:\/\w+)?$/u.exec(line) ?? [];
    const index = this.leaves.findIndex((leaf) => bytesToHex(anchorIdOf(leaf, sha256)) === id);
    if (line === "GET /healthz") return { status: 200, body: { origin_fingerprint: this.origin } };
    if (line === "GET /v1/trust-root") {
      return { status: 200, body: { chain: [{ version: 1, document: this.ceremony.document }] } };
    }
    if (line.startsWith("GET /v1/event-anchors/latest")) return this.#latest(new URL(line.slice(4), this.apiUrl));
    if (line === "POST /v1/event-anchors/batch") return this.#batch(body);
    if (line === "POST /v1/event-anchors") return this.#created(this.append(this.forgets(eventOf(body))));
    if (line === "POST /v1/claim-anchors") return this.#created(this.append(claimOf(body)));
    if (line === "POST /v1/grant-anchors") return this.#created(this.append(grantOf(body)));
    if (line.endsWith("/revoke")) return this.#created(this.append(revocationOf(body, id || idIn(line))));
    if (line.endsWith("/receipt") && index >= 0) return { status: 200, body: this.receipt(index) };
    if (index >= 0) {
      const kind = this.leaves[index]?.[26] === LEAF_KIND.claim ? "claim" : "event";
      return { status: 200, body: { anchor: { kind, origin_fingerprint: this.origin }, receipt: this.receipt(index) } };
    }
    return { status: 404, body: { code: "anchor_not_found", detail: line } };
  }

  #created(anchorId: string): Reply {
    const index = this.leaves.length - 1;
    const anchor = { anchor_id: anchorId, sequence: index };
    return { status: 201, body: { anchor, receipt: this.receipt(index), replayed: false } };
  }

  readonly #byEventId = new Map<string, number>();

  /** A hash that begins with `ff` is refused. */
  #batch({ events }: Json): Reply {
    const results = (events as readonly Json[]).map((event) => {
      const hash = String(event["event_hash"]);
      if (hash.startsWith("ff")) return { status: 409, problem: { code: "origin_closed", detail: "closed" } };
      const known = this.#byEventId.get(String(event["client_event_id"]));
      if (known === undefined) this.append(this.forgets(eventOf(event)));
      const index = known ?? this.leaves.length - 1;
      this.#byEventId.set(String(event["client_event_id"]), index);
      const leaf = this.leaves[index] ?? new Uint8Array(0);
      const anchor = { anchor_id: bytesToHex(anchorIdOf(leaf, sha256)) };
      return { status: known === undefined ? 201 : 200, anchor, index, replayed: known !== undefined };
    });
    const answered = results.map((result) =>
      "index" in result ? { ...result, receipt: this.receipt(result.index ?? 0) } : result,
    );
    return { status: 200, body: { results: answered, summary: {} } };
  }

  #latest({ searchParams }: URL): Reply {
    if (searchParams.get("origin_fingerprint") !== this.origin) {
      return { status: 404, body: { code: "no_anchor_yet", detail: "" } };
    }
    const from = Number(searchParams.get("from_size") ?? 0);
    const size = this.leaves.length;
    if (from > size) return { status: 409, body: { code: "from_size_ahead", detail: "" } };
    const proof = from === 0 || from === size ? [] : proveConsistency(from, size, this.#hashAt, sha256);
    const anchorId = bytesToHex(this.#hashAt(0, size - 1));
    return {
      status: 200,
      body: {
        origin_fingerprint: this.origin,
        tree_size: size,
        depth: size - 1,
        anchor: { kind: "event", anchor_id: anchorId, sequence: size - 1 },
        root_hash: bytesToHex(this.#rootOf(size)),
        certified_at: "2026-11-21T05:45:46.000Z",
        checkpoint: this.checkpoint(),
        consistency: { from_size: from, tree_size: size, proof: proof.map(bytesToBase64) },
        receipt: this.receipt(size - 1),
      },
    };
  }
}

/** RFC 6962, by the definition. */
function rootOf(from: number, to: number, hashAt: (level: number, index: number) => Uint8Array): Uint8Array {
  if (to - from === 1) return hashAt(0, from);
  let half = 1;
  while (half * 2 < to - from) half *= 2;
  return interiorHash(rootOf(from, from + half, hashAt), rootOf(from + half, to, hashAt), sha256);
}

const idIn = (line: string): string => /([0-9a-f]{64})/u.exec(line)?.[1] ?? "";
const bytes = (body: Json, name: string, length = 32): Uint8Array =>
  body[name] === undefined ? new Uint8Array(length) : hexToBytes(body[name] as string, length);
const count = (body: Json, name: string): number => Number(body[name] ?? 0);

function eventOf(body: Json): LeafContent {
  const references = (body["semantic_anchor"] ?? {}) as Json;
  const event = {
    eventHash: bytes(body, "event_hash"),
    semanticAnchor: {
      irisRef: bytes(references, "iris_ref"),
      scrollRef: bytes(references, "scroll_ref"),
      grantRef: bytes(references, "grant_ref"),
      bondRef: bytes(references, "bond_ref"),
      yieldRef: bytes(references, "yield_ref"),
      eventDataHash: bytes(references, "event_data_hash"),
    },
    clientEventCommit: ZERO_32,
  };
  if (body["actor_public_key"] === undefined) return { kind: LEAF_KIND.event, ...event };
  const actorPublicKey = bytes(body, "actor_public_key");
  return { kind: LEAF_KIND.signedEvent, ...event, actorPublicKey, actorSignature: bytes(body, "actor_signature", 64) };
}

function claimOf(body: Json): LeafContent {
  const claim: ClaimBody = {
    entityFingerprint: bytes(body, "entity_fingerprint"),
    attributeType: count(body, "attribute_type"),
    attributeHash: bytes(body, "attribute_hash"),
    issuedAt: count(body, "issued_at"),
    expiresAt: count(body, "expires_at"),
    subjectPublicKey: bytes(body, "subject_public_key"),
    subjectSignature: bytes(body, "subject_signature", 64),
    issuerPublicKey: bytes(body, "issuer_public_key"),
    issuerSignature: bytes(body, "issuer_signature", 64),
  };
  return { kind: LEAF_KIND.claim, ...claim };
}

function grantOf(body: Json): LeafContent {
  const grant: GrantBody = {
    grantorClaimRef: bytes(body, "grantor_claim_ref"),
    granteeClaimRef: bytes(body, "grantee_claim_ref"),
    parentGrantRef: bytes(body, "parent_grant_ref"),
    scopeHash: bytes(body, "scope_hash"),
    delegationDepth: count(body, "delegation_depth"),
    issuedAt: count(body, "issued_at"),
    notBefore: count(body, "not_before"),
    expiresAt: count(body, "expires_at"),
    grantorPublicKey: bytes(body, "grantor_public_key"),
    grantorSignature: bytes(body, "grantor_signature", 64),
    witnessPublicKey: bytes(body, "witness_public_key"),
    witnessSignature: bytes(body, "witness_signature", 64),
  };
  return { kind: LEAF_KIND.grant, ...grant };
}

function revocationOf(body: Json, target: string): LeafContent {
  return {
    kind: LEAF_KIND.revocation,
    targetAnchorId: toAnchorId(hexToBytes(target, 32)),
    reason: Math.max(
      0,
      REVOCATION_REASONS.findIndex((word) => word === body["reason"]),
    ),
    suspectSince: count(body, "suspect_since"),
    issuedAt: count(body, "issued_at"),
    authority: 1,
    revoker: bytes(body, "revoker_public_key"),
    signature: bytes(body, "revoker_signature", 64),
  };
}

async function readBody(request: IncomingMessage): Promise<Json> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? {} : (JSON.parse(text) as Json);
}
