/** Judging Cluster-auth headers. README.md, "Cluster-auth": the checks run in the order given there. */
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { Ed25519Verify, Sha256 } from "@event-anchoring/protocol";
import { authSignedBytes, parseAuthHeader } from "./cluster-auth.ts";
import type { AuthContext, AuthHeader } from "./cluster-auth.ts";
import type { CertificateIdentity } from "./identity.ts";

/**
 * Why a header was refused, in the order of the checks. The caller is told less than the log: see AuthRefusal.
 * `not_allowed` is the last check, made by the transport: the caller is authentic, and may not make this call.
 */
const AUTH_REFUSAL_CODES = [
  "malformed",
  "wrong_identity",
  "unknown_node",
  "wrong_cluster",
  "wrong_target",
  "stale_incarnation",
  "replayed",
  "clock_skew",
  "body_mismatch",
  "bad_signature",
  "not_allowed",
] as const;

export type AuthRefusalCode = (typeof AUTH_REFUSAL_CODES)[number];

export interface AuthRefusal {
  readonly ok: false;
  readonly code: AuthRefusalCode;
  /** For the log of the verifying node; never sent. */
  readonly detail: string;
}

export type AuthVerdict = { readonly ok: true; readonly header: AuthHeader } | AuthRefusal;

/** ± this much an operator's clock may differ. */
const OPERATOR_CLOCK_SKEW_MS_MAX = 30_000;
/** How long an operator's nonce is remembered: a time 30 s ahead stays good for 60 s. */
const OPERATOR_NONCE_MEMORY_MS = 60_000;
const NONCES_MAX = 10_000;

/**
 * The highest incarnation seen of each node since this process started. Incarnations that must survive a restart are in
 * the promise file. Only verified headers are remembered, so that a forged one cannot lock a node out.
 */
export class IncarnationMemory {
  readonly #highest = new Map<string, number>();

  /** Null if that node has not been heard from. */
  highest(nodeId: string): number | null {
    return this.#highest.get(nodeId) ?? null;
  }

  isStale(nodeId: string, incarnation: number): boolean {
    return incarnation < (this.#highest.get(nodeId) ?? 0);
  }

  /** True if this incarnation is newer than what was known: every session of an older one must end. */
  remember(nodeId: string, incarnation: number): boolean {
    const known = this.#highest.get(nodeId);
    if (known !== undefined && incarnation <= known) return false;
    this.#highest.set(nodeId, incarnation);
    return known !== undefined;
  }
}

/** Nonces of operator calls. Bounded: when it is full of live nonces it refuses, it never forgets early. */
export class NonceMemory {
  /** Insertion order is order of expiry, because `monotonicMs` never goes back. */
  readonly #expiry = new Map<string, number>();

  /**
   * @param monotonicMs a clock that never goes back
   * @returns false if the nonce was seen, or if the memory is full
   */
  admit(nonce: Uint8Array, monotonicMs: number): boolean {
    for (const [known, expiresMs] of this.#expiry) {
      if (expiresMs > monotonicMs) break;
      this.#expiry.delete(known);
    }
    const text = bytesToHex(nonce);
    if (this.#expiry.has(text) || this.#expiry.size >= NONCES_MAX) return false;
    this.#expiry.set(text, monotonicMs + OPERATOR_NONCE_MEMORY_MS);
    return true;
  }
}

export interface RequestExpectation {
  readonly clusterId: Uint8Array;
  /** This node. */
  readonly self: string;
  /** The identity in the connection's TLS certificate. */
  readonly tlsIdentity: CertificateIdentity;
  /** Highest sequence verified on this connection, or −1: the header's must be greater. */
  readonly lastSequence: number;
  readonly context: AuthContext;
}

export interface NodeVerifier {
  /** The auth public key of a member that may take part, from the trust root in force; else null. */
  readonly authKeyOf: (nodeId: string) => Uint8Array | null;
  readonly incarnations: IncarnationMemory;
  readonly ed25519Verify: Ed25519Verify;
  readonly sha256: Sha256;
}

/** Judges a node's request or first frame. The caller, not this function, remembers its incarnation. */
export function verifyNodeRequest(text: string, expected: RequestExpectation, verifier: NodeVerifier): AuthVerdict {
  const header = parseAuthHeader(text);
  if (header === null || header.kind !== "node") return refuse("malformed", "not a Cluster-auth header of a node");
  if (expected.tlsIdentity.role !== "node") return refuse("wrong_identity", "the certificate is not a node's");
  const addressed = checkAddress(header, expected, () => verifier.authKeyOf(header.from) !== null);
  if (addressed !== null) return addressed;
  if (verifier.incarnations.isStale(header.from, header.incarnation)) {
    const highest = verifier.incarnations.highest(header.from);
    return refuse("stale_incarnation", `incarnation ${header.incarnation}, seen ${highest}`);
  }
  const replayed = checkSequence(header, expected);
  if (replayed !== null) return replayed;
  if (!hasBodyDigest(header, expected.context)) return refuse("body_mismatch", "other body");
  const publicKey = verifier.authKeyOf(header.from);
  const message = authSignedBytes(header, expected.context, null, verifier.sha256);
  if (publicKey === null || !verifier.ed25519Verify(publicKey, message, header.signature)) {
    return refuse("bad_signature", "not signed by the auth key for this connection");
  }
  return { ok: true, header };
}

export interface OperatorVerifier {
  /** ECDSA P-256 / SHA-256 over r ‖ s, with the key of the certificate of this connection. */
  readonly verify: (message: Uint8Array, signature: Uint8Array) => boolean;
  readonly nonces: NonceMemory;
  /** Unix milliseconds. */
  readonly wallMs: number;
  readonly monotonicMs: number;
  readonly sha256: Sha256;
}

/** Judges an operator call. The nonce is remembered only after the signature was found good. */
export function verifyOperatorRequest(
  text: string,
  expected: RequestExpectation,
  verifier: OperatorVerifier,
): AuthVerdict {
  const header = parseAuthHeader(text);
  if (header === null || header.kind !== "operator") return refuse("malformed", "not a header of an operator");
  if (expected.tlsIdentity.role !== "operator") return refuse("wrong_identity", "the certificate is not an operator's");
  const addressed = checkAddress(header, expected, () => true);
  if (addressed !== null) return addressed;
  const replayed = checkSequence(header, expected);
  if (replayed !== null) return replayed;
  const skewMs = Math.abs(header.extra - verifier.wallMs);
  if (skewMs > OPERATOR_CLOCK_SKEW_MS_MAX) return refuse("clock_skew", `clocks differ by ${skewMs} ms`);
  if (!hasBodyDigest(header, expected.context)) return refuse("body_mismatch", "other body");
  const message = authSignedBytes(header, expected.context, null, verifier.sha256);
  if (!verifier.verify(message, header.signature)) {
    return refuse("bad_signature", "not signed by the certificate's key for this connection");
  }
  if (!verifier.nonces.admit(header.nonce, verifier.monotonicMs)) return refuse("replayed", "nonce was used");
  return { ok: true, header };
}

export interface ResponseExpectation {
  readonly clusterId: Uint8Array;
  /** The node that was called. */
  readonly from: string;
  /** Who called. */
  readonly to: string;
  /** HTTP status received; 200 or 403 for a hello. */
  readonly status: number;
  readonly sequence: number;
  readonly requestHeader: string;
  readonly context: AuthContext;
}

/** Judges the answer to a request of ours. @param authKey the answering node's auth public key, as pinned */
export function verifyResponse(
  text: string,
  expected: ResponseExpectation,
  authKey: Uint8Array,
  ed25519Verify: Ed25519Verify,
  sha256: Sha256,
): AuthVerdict {
  const header = parseAuthHeader(text);
  if (header === null || header.kind !== "response") return refuse("malformed", "not a header of a response");
  if (header.from !== expected.from) return refuse("wrong_identity", `answer by ${header.from}`);
  if (!equalBytes(header.clusterId, expected.clusterId)) return refuse("wrong_cluster", "answer of another cluster");
  if (header.to !== expected.to) return refuse("wrong_target", `answer for ${header.to}`);
  if (header.sequence !== expected.sequence) return refuse("replayed", `answer to sequence ${header.sequence}`);
  if (header.extra !== expected.status) return refuse("body_mismatch", `signed status ${header.extra}`);
  if (!hasBodyDigest(header, expected.context)) return refuse("body_mismatch", "other body");
  const message = authSignedBytes(header, expected.context, expected.requestHeader, sha256);
  if (!ed25519Verify(authKey, message, header.signature)) {
    return refuse("bad_signature", "not signed by the auth key for this request");
  }
  return { ok: true, header };
}

function checkAddress(header: AuthHeader, expected: RequestExpectation, isKnown: () => boolean): AuthRefusal | null {
  const { tlsIdentity } = expected;
  if (header.from !== tlsIdentity.id)
    return refuse("wrong_identity", `header of ${header.from} from ${tlsIdentity.id}`);
  if (!equalBytes(tlsIdentity.clusterId, expected.clusterId))
    return refuse("wrong_cluster", "certificate of another cluster");
  if (!isKnown()) return refuse("unknown_node", `${header.from} is not a member`);
  if (!equalBytes(header.clusterId, expected.clusterId)) return refuse("wrong_cluster", "header of another cluster");
  if (header.to !== expected.self) return refuse("wrong_target", `addressed to ${header.to}`);
  return null;
}

function checkSequence(header: AuthHeader, expected: RequestExpectation): AuthRefusal | null {
  if (header.sequence > expected.lastSequence) return null;
  return refuse("replayed", `sequence ${header.sequence} after ${expected.lastSequence}`);
}

function hasBodyDigest(header: AuthHeader, context: AuthContext): boolean {
  return equalBytes(header.bodyDigest, context.bodyDigest);
}

function refuse(code: AuthRefusalCode, detail: string): AuthRefusal {
  return { ok: false, code, detail };
}
