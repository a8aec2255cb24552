import { createServer } from "node:http";
import type { IncomingMessage, Server } from "node:http";
import type { AddressInfo } from "node:net";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  EMPTY_SEMANTIC_ANCHOR,
  REVOCATION_REASONS,
  ZERO_32,
  bytesToHex,
  claimIssuerPayload,
  claimPayload,
  eventActorPayload,
  grantPayload,
  grantWitnessPayload,
  hexToBytes,
  receiptToJson,
  revocationPayload,
  toAnchorId,
  toOriginFingerprint,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import type { ReceiptMaker } from "@event-anchoring/testkit/receipts";

type Json = Readonly<Record<string, unknown>>;

interface Reply {
  readonly status: number;
  readonly body: object;
}

const { sha256, ed25519Verify } = nodeCrypto;
const ACCEPTED_AT = "2026-11-21T02:43:41.734Z";
const POSITION = { sequence: 40, time_ms: 1, time: ACCEPTED_AT };

/**
 * One node on paper: takes the demo's writes if their signatures are good, and answers as docs/PROTOCOL.md says. It
 * knows one grant and two acts.
 */
export class FakeService {
  readonly #maker: ReceiptMaker;
  readonly #server: Server;
  readonly anchors = new Map<string, Json>();
  readonly asked: string[] = [];
  /** Answers that are given instead, by method and path as asked. */
  readonly instead = new Map<string, Reply>();
  /** Sends a good receipt of another event. */
  isReceiptSwapped = false;
  #currentGrantInstead: Reply | null = null;
  #sequence = 3;
  #grant: Json | null = null;
  #revocation: Json | null = null;

  private constructor(maker: ReceiptMaker) {
    this.#maker = maker;
    this.#server = createServer((request, response) => {
      void readBody(request).then((body) => {
        const { status, body: answer } = this.#answer(`${request.method ?? ""} ${request.url ?? ""}`, body);
        response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(answer));
      });
    });
  }

  static async start(maker: ReceiptMaker): Promise<FakeService> {
    const service = new FakeService(maker);
    await new Promise<void>((resolve) => service.#server.listen(0, "127.0.0.1", resolve));
    return service;
  }

  get apiUrl(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  insteadOfCurrentGrant(reply: Reply): void {
    this.#currentGrantInstead = reply;
  }

  get #origin(): string {
    return bytesToHex(this.#maker.originFingerprint);
  }

  #answer(asked: string, body: Json): Reply {
    this.asked.push(asked);
    const instead = this.instead.get(asked.replaceAll(/[0-9a-f]{64}/g, "{id}"));
    if (instead !== undefined) return instead;
    const [, id = ""] = /([0-9a-f]{64})\/(?:trace|revoke|receipt)$/u.exec(asked) ?? [];
    if (asked === "GET /healthz") return { status: 200, body: { origin_fingerprint: this.#origin } };
    if (asked === "POST /v1/claim-anchors") return this.#claim(body);
    if (asked === "POST /v1/grant-anchors") return this.#takeGrant(body);
    if (asked === "POST /v1/event-anchors") return this.#event(body);
    if (asked.endsWith("/revoke")) return this.#revoke(id, body);
    if (asked.endsWith("/trace")) return { status: 200, body: this.#trace(id) };
    if (asked.endsWith(":verify")) return this.#verify(body);
    if (asked.startsWith("GET /v1/claim-anchors?")) return this.#currentClaim(new URL(asked.slice(4), this.apiUrl));
    if (asked.startsWith("GET /v1/grant-anchors?")) return this.#currentGrant();
    return { status: 404, body: { code: "route_not_found", detail: asked } };
  }

  #claim(body: Json): Reply {
    const payload = claimPayload({
      originFingerprint: toOriginFingerprint(bytes(body, "origin_fingerprint")),
      entityFingerprint: bytes(body, "entity_fingerprint"),
      attributeType: Number(body.attribute_type),
      attributeHash: bytes(body, "attribute_hash"),
      issuedAt: Number(body.issued_at),
      expiresAt: 0,
      subjectPublicKey: bytes(body, "subject_public_key"),
      issuerPublicKey: bytes(body, "issuer_public_key"),
    });
    const subjectSignature = bytes(body, "subject_signature", 64);
    const second = claimIssuerPayload(payload, subjectSignature, sha256);
    if (!isSigned(body, "subject", payload) || !isSigned(body, "issuer", second)) return BAD_SIGNATURE;
    return this.#created(payload, { kind: "claim", state: "active", ...body });
  }

  #takeGrant(body: Json): Reply {
    const payload = grantPayload({
      originFingerprint: toOriginFingerprint(bytes(body, "origin_fingerprint")),
      grantorClaimRef: toAnchorId(bytes(body, "grantor_claim_ref")),
      granteeClaimRef: toAnchorId(bytes(body, "grantee_claim_ref")),
      parentGrantRef: toAnchorId(ZERO_32),
      scopeHash: bytes(body, "scope_hash"),
      delegationDepth: Number(body.delegation_depth),
      issuedAt: Number(body.issued_at),
      notBefore: 0,
      expiresAt: Number(body.expires_at),
      grantorPublicKey: bytes(body, "grantor_public_key"),
      witnessPublicKey: bytes(body, "witness_public_key"),
    });
    const second = grantWitnessPayload(payload, bytes(body, "grantor_signature", 64), sha256);
    if (!isSigned(body, "grantor", payload) || !isSigned(body, "witness", second)) return BAD_SIGNATURE;
    const created = this.#created(payload, { kind: "grant", state: "active", ...body });
    this.#grant = created.anchor;
    return created;
  }

  /** The first act is the one that the maker's receipt is of. */
  #event(body: Json): Reply {
    const semantic = body.semantic_anchor as Json;
    const eventHash = bytes(body, "event_hash");
    const payload = eventActorPayload({
      originFingerprint: toOriginFingerprint(bytes(body, "origin_fingerprint")),
      eventHash,
      semanticAnchor: {
        ...EMPTY_SEMANTIC_ANCHOR,
        irisRef: bytes(semantic, "iris_ref"),
        grantRef: bytes(semantic, "grant_ref"),
        eventDataHash: bytes(semantic, "event_data_hash"),
      },
    });
    if (!isSigned(body, "actor", payload)) return BAD_SIGNATURE;
    const receipt = receiptToJson(this.#maker.receipt(eventHash), 1, sha256);
    const sent = this.isReceiptSwapped ? receiptToJson(this.#maker.receipt(ZERO_32), 1, sha256) : receipt;
    return this.#created(payload, { kind: "signed_event", ...body }, { anchorId: receipt.anchor_id, sent });
  }

  #revoke(target: string, body: Json): Reply {
    const payload = revocationPayload({
      originFingerprint: toOriginFingerprint(bytes(body, "origin_fingerprint")),
      targetAnchorId: toAnchorId(hexToBytes(target, 32)),
      reason: REVOCATION_REASONS.findIndex((reason) => reason === body.reason),
      suspectSince: 0,
      issuedAt: Number(body.issued_at),
    });
    if (!isSigned(body, "revoker", payload)) return BAD_SIGNATURE;
    const created = this.#created(payload, { kind: "revocation", authority: "grantor", ...body });
    this.#revocation = { ...created.anchor, target };
    this.#grant = { ...this.#grant, state: "revoked" };
    return created;
  }

  #created(
    payload: Uint8Array,
    fields: Json,
    proof: { readonly anchorId: string; readonly sent: object } | null = null,
  ): Reply & { readonly anchor: Json } {
    const anchorId = proof?.anchorId ?? bytesToHex(sha256(payload));
    this.#sequence += 1;
    const place = { depth: this.#sequence - 2, sequence: this.#sequence, accepted_at: ACCEPTED_AT };
    const anchor = { anchor_id: anchorId, finality: "certified", ...place, ...fields };
    this.anchors.set(anchorId, anchor);
    return { status: 201, body: { anchor, receipt: proof?.sent ?? {}, replayed: false }, anchor };
  }

  #currentClaim({ searchParams }: URL): Reply {
    const entity = searchParams.get("entity_fingerprint");
    const anchor = [...this.anchors.values()].find((it) => it.kind === "claim" && it.entity_fingerprint === entity);
    if (anchor === undefined) return { status: 404, body: { code: "no_active_claim", detail: "" } };
    return { status: 200, body: { anchor, receipt: {}, state: "active" } };
  }

  #currentGrant(): Reply {
    if (this.#currentGrantInstead !== null) return this.#currentGrantInstead;
    if (this.#revocation !== null) return { status: 404, body: { code: "no_active_grant", detail: "" } };
    return { status: 200, body: { anchor: this.#grant, receipt: {}, state: "active", others: 0 } };
  }

  #verify(body: Json): Reply {
    const isRevokedGrant = body.anchor_id === this.#grant?.anchor_id && this.#revocation !== null;
    const checks = [
      { code: "exists", result: "pass", detail: "" },
      { code: "revocation", result: isRevokedGrant ? "fail" : "pass", detail: "" },
    ];
    const anchor = this.anchors.get(String(body.anchor_id));
    return { status: 200, body: { valid: !isRevokedGrant, as_of: POSITION, checks, anchor, receipt: {} } };
  }

  #trace(id: string): object {
    const event = this.anchors.get(id) ?? {};
    const semantic = event.semantic_anchor as Json;
    const claim = this.anchors.get(String(semantic.iris_ref));
    const grant = this.#grant ?? {};
    const revoked = this.#revocation;
    const wasBefore = revoked !== null && Number(revoked.sequence) < Number(event.sequence);
    const reason = (verdict: string): object => ({
      verdict,
      code: "grant_revoked",
      anchor_id: grant.anchor_id,
      sequence: revoked?.sequence,
    });
    return {
      anchor: event,
      actor_proven: true,
      authorised_at_action: !wasBefore,
      authorised_now: revoked === null,
      reasons: [...(wasBefore ? [reason("at_action")] : []), ...(revoked === null ? [] : [reason("now")])],
      actor: { claim, state: "active", actor_signature: "pass" },
      delegation: [
        {
          grant,
          grantor_claim: this.anchors.get(String(grant.grantor_claim_ref)),
          grantee_claim: claim,
          witness_public_key: grant.witness_public_key,
          witness_is_grantee: false,
        },
      ],
      delegation_omitted: 0,
      boundary: {
        scope_hash: grant.scope_hash,
        depth: { granted: 0, used: 0, left: 0 },
        window: { not_before: 0, expires_at: grant.expires_at },
      },
      root_authority: "not_checked",
      possible_parents: [],
      suspect: false,
      revocations:
        revoked === null ? [] : [{ anchor: revoked, target_anchor_id: revoked.target, before_action: wasBefore }],
      violations: [],
      as_of: POSITION,
    };
  }
}

const BAD_SIGNATURE = {
  status: 422,
  body: { code: "signature_invalid", detail: "the signature is not good" },
  anchor: {},
};

function bytes(body: Json, name: string, length = 32): Uint8Array {
  return hexToBytes(String(body[name]), length);
}

function isSigned(body: Json, party: string, payload: Uint8Array): boolean {
  return ed25519Verify(bytes(body, `${party}_public_key`), payload, bytes(body, `${party}_signature`, 64));
}

async function readBody(request: IncomingMessage): Promise<Json> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request)
    chunks.push(typeof chunk === "string" ? utf8ToBytes(chunk) : (chunk as Uint8Array));
  const text = Buffer.concat(chunks).toString("utf8");
  return text === "" ? {} : (JSON.parse(text) as Json);
}
