/** Commands of one API client, and what was made of them. */
import { LIMITS } from "@event-anchoring/ledger";
import type { Command, Credential, EventInput, OperatorCommand } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { EMPTY_SEMANTIC_ANCHOR, type OriginFingerprint, apiKeyHash, bytesToHex } from "@event-anchoring/protocol";
import type { SubmissionResult } from "../src/proposals/proposals.ts";

export const API_CLIENT = new Uint8Array(16).fill(0xaa);
const API_SECRET = new Uint8Array(32).fill(0x5e);
export const CREDENTIAL: Credential = {
  apiClientId: API_CLIENT,
  keyId: apiKeyHash(API_SECRET, nodeCrypto.sha256).slice(0, 16),
};

export function createKeyCommand(): OperatorCommand {
  return {
    kind: "create_api_key",
    key: {
      keyHash: apiKeyHash(API_SECRET, nodeCrypto.sha256),
      apiClientId: API_CLIENT,
      label: "test",
      scopes: ["read", "write", "revoke", "admin"],
      expiresMs: 0,
      requestsPerSecond: 0,
    },
  };
}

function eventOf(origin: OriginFingerprint, seed: number, clientEventId: string | null): EventInput {
  const eventHash = nodeCrypto.sha256(Uint8Array.of(seed & 0xff, (seed >> 8) & 0xff, (seed >> 16) & 0xff));
  return {
    originFingerprint: origin,
    eventHash,
    semanticAnchor: EMPTY_SEMANTIC_ANCHOR,
    clientEventId,
    clientEventSalt: clientEventId === null ? null : new Uint8Array(32).fill(seed & 0xff),
    actor: null,
  };
}

function eventsCommand(events: readonly EventInput[]): Command {
  return { kind: "record_events", credential: CREDENTIAL, atomic: false, events };
}

export function eventCommand(origin: OriginFingerprint, seed: number, clientEventId: string | null = null): Command {
  return eventsCommand([eventOf(origin, seed, clientEventId)]);
}

/** As many events as a batch may have. */
export function batchCommand(origin: OriginFingerprint, seed: number): Command {
  const event = eventOf(origin, seed, null);
  return eventsCommand(Array.from({ length: LIMITS.batchEventsMax }, () => event));
}

/** The anchor id of the only event of a certified result. */
export function acceptedId(result: SubmissionResult): string {
  if (result.kind !== "decided" || result.outcome.kind !== "records") throw new Error(JSON.stringify(result));
  const event = result.outcome.records[0];
  if (event?.status === "accepted") return bytesToHex(event.leaf.anchorId);
  if (event?.status === "replayed") return bytesToHex(event.anchorId);
  throw new Error(`refused: ${event?.rejection.code ?? "nothing"}`);
}
