/**
 * Cluster-auth: who made a frame, for whom, on which TLS connection. README.md, "Cluster-auth".
 *
 * A certificate proves what the private CA has signed; Cluster-auth proves what the trust root pins. The signed bytes
 * are a tag and then each field as u16 length ‖ bytes, among them the TLS exporter value of the connection (RFC 9266),
 * so that a header is worthless on any other connection. No wall time is in a node's header: a wrong clock must not
 * stop consensus. An operator's header is signed with the key of its TLS certificate and has a time.
 *
 * The header is text, `v1;kind=…;…;sig=…`, fields in one fixed order, so that it has one form. It is the `Cluster-Auth`
 * header of a unary call, and comes before the body in a signed first frame.
 */
import {
  ByteReader,
  ByteWriter,
  DecodeError,
  asciiToBytes,
  bytesToHex,
  concatBytes,
  hexToBytes,
  isNodeId,
  tag,
} from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";

export const CLUSTER_AUTH_HEADER = "cluster-auth";
/** RFC 9266: `tls-exporter` channel binding. 32 bytes, empty context. */
export const EXPORTER_LABEL = "EXPORTER-Channel-Binding";
export const EXPORTER_BYTES = 32;
/** Longest header value: all fields at their longest are below 600 characters. */
const AUTH_HEADER_CHARACTERS_MAX = 1024;
/** Sequence of the signed first frame each way; unary calls on a connection count from 1. */
export const FIRST_FRAME_SEQUENCE = 0;

export type AuthKind = "node" | "operator" | "response";

/** Where a message is sent: known to both ends without being sent in the header. */
export interface AuthContext {
  readonly method: string;
  readonly path: string;
  /** RFC 9266 exporter value of the connection, 32 bytes. */
  readonly exporter: Uint8Array;
  /** SHA-256 of the raw body. */
  readonly bodyDigest: Uint8Array;
}

/** The fields of a header. All are unauthenticated until the signature is verified. */
export interface AuthHeader {
  readonly kind: AuthKind;
  readonly clusterId: Uint8Array;
  /** Node id, or operator id. */
  readonly from: string;
  readonly to: string;
  /** 0 for an operator, who has none. */
  readonly incarnation: number;
  /** 0 for an operator. */
  readonly trustRootVersion: number;
  readonly sequence: number;
  /** 16 random bytes. */
  readonly nonce: Uint8Array;
  readonly bodyDigest: Uint8Array;
  /** Unix milliseconds for an operator, status for a response, 0 for a node. */
  readonly extra: number;
  /** 64 bytes: Ed25519 (nodes and responses), or ECDSA P-256 with SHA-256 as r ‖ s (operators). */
  readonly signature: Uint8Array;
}

export type AuthClaims = Omit<AuthHeader, "kind" | "bodyDigest" | "signature" | "extra">;

/** Signs bytes with the key of the kind of header that is made. */
export type AuthSign = (message: Uint8Array) => Uint8Array;

const EXTRA_NAME: Record<AuthKind, string> = { node: "", operator: "ts=", response: "status=" };
const TAG_NAME: Record<AuthKind, string> = {
  node: "cluster-auth",
  operator: "cluster-auth-operator",
  response: "cluster-auth-response",
};
const HEADER = new RegExp(
  "^v1;kind=(node|operator|response);cid=([0-9a-f]{64});from=([a-z][a-z0-9-]{0,31});to=([a-z][a-z0-9-]{0,31});" +
    "inc=(0|[1-9][0-9]{0,15});trv=(0|[1-9][0-9]{0,9});seq=(0|[1-9][0-9]{0,15});nonce=([0-9a-f]{32});" +
    "bd=([0-9a-f]{64});(?:(ts|status)=(0|[1-9][0-9]{0,15});)?sig=([0-9a-f]{128})$",
);

/** The header of a request or first frame by a node. @param sign Ed25519 with the node's auth key */
export function signNodeRequest(claims: AuthClaims, context: AuthContext, sign: AuthSign, sha256: Sha256): string {
  return signHeader({ ...claims, kind: "node", extra: 0 }, context, null, sign, sha256);
}

/** The header of an operator call. @param sign ECDSA P-256 with the key of the operator's TLS certificate, r ‖ s */
export function signOperatorRequest(
  claims: Omit<AuthClaims, "incarnation" | "trustRootVersion">,
  timestampMs: number,
  context: AuthContext,
  sign: AuthSign,
  sha256: Sha256,
): string {
  const header = { ...claims, incarnation: 0, trustRootVersion: 0, kind: "operator", extra: timestampMs } as const;
  return signHeader(header, context, null, sign, sha256);
}

/**
 * The header of an answer. It binds the whole header of the request (empty text if the request had none).
 * @param sign Ed25519 with the answering node's auth key
 */
export function signResponse(
  claims: AuthClaims,
  status: number,
  requestHeader: string,
  context: AuthContext,
  sign: AuthSign,
  sha256: Sha256,
): string {
  return signHeader({ ...claims, kind: "response", extra: status }, context, requestHeader, sign, sha256);
}

function signHeader(
  unsigned: Omit<AuthHeader, "bodyDigest" | "signature">,
  context: AuthContext,
  requestHeader: string | null,
  sign: AuthSign,
  sha256: Sha256,
): string {
  const header = { ...unsigned, bodyDigest: context.bodyDigest };
  const signature = sign(authSignedBytes(header, context, requestHeader, sha256));
  if (signature.length !== 64) throw new RangeError(`a Cluster-auth signature has 64 bytes, not ${signature.length}`);
  return formatAuthHeader({ ...header, signature });
}

/**
 * The bytes that are signed: tag ‖ each of method, path, cluster id, from, to, incarnation u64, trust-root version
 * u32, sequence u64, nonce, body digest, exporter; an operator adds its time u64, a response H(request header) and its
 * status u16; each field as u16 length ‖ bytes.
 */
export function authSignedBytes(
  header: Omit<AuthHeader, "signature">,
  context: Omit<AuthContext, "bodyDigest">,
  requestHeader: string | null,
  sha256: Sha256,
): Uint8Array {
  const writer = new ByteWriter(512);
  writer.bytes(tag(TAG_NAME[header.kind]));
  const field = (bytes: Uint8Array): void => void writer.lengthPrefixed16(bytes);
  field(asciiToBytes(context.method));
  field(asciiToBytes(context.path));
  field(fixed(header.clusterId, 32, "cluster id"));
  field(asciiToBytes(header.from));
  field(asciiToBytes(header.to));
  field(new ByteWriter(8).u64(header.incarnation).finish());
  field(new ByteWriter(4).u32(header.trustRootVersion).finish());
  field(new ByteWriter(8).u64(header.sequence).finish());
  field(fixed(header.nonce, 16, "nonce"));
  field(fixed(header.bodyDigest, 32, "body digest"));
  field(fixed(context.exporter, EXPORTER_BYTES, "exporter value"));
  if (header.kind === "operator") field(new ByteWriter(8).u64(header.extra).finish());
  if (header.kind === "response") {
    field(sha256(asciiToBytes(requestHeader ?? "")));
    field(new ByteWriter(2).u16(header.extra).finish());
  }
  return writer.finish();
}

function fixed(bytes: Uint8Array, byteLength: number, what: string): Uint8Array {
  if (bytes.length !== byteLength) throw new RangeError(`${what} has ${byteLength} bytes, not ${bytes.length}`);
  return bytes;
}

export function formatAuthHeader(header: AuthHeader): string {
  if (!isNodeId(header.from) || !isNodeId(header.to)) throw new RangeError("not a node or operator id");
  const extra = header.kind === "node" ? "" : `${EXTRA_NAME[header.kind]}${header.extra};`;
  return (
    `v1;kind=${header.kind};cid=${bytesToHex(header.clusterId)};from=${header.from};to=${header.to};` +
    `inc=${header.incarnation};trv=${header.trustRootVersion};seq=${header.sequence};` +
    `nonce=${bytesToHex(header.nonce)};bd=${bytesToHex(header.bodyDigest)};${extra}sig=${bytesToHex(header.signature)}`
  );
}

/** Attacker-controlled text; null for anything but the one form that formatAuthHeader prints. */
export function parseAuthHeader(text: string): AuthHeader | null {
  if (text.length > AUTH_HEADER_CHARACTERS_MAX) return null;
  const match = HEADER.exec(text);
  if (match === null) return null;
  const [, kindText = "", clusterId = "", from = "", to = "", ...rest] = match;
  const [incarnation, trustRootVersion, sequence, nonce = "", bodyDigest = "", extraName, extra, signature = ""] = rest;
  const kind = kindText as AuthKind;
  if ((extraName === undefined ? "" : `${extraName}=`) !== EXTRA_NAME[kind]) return null;
  const header: AuthHeader = {
    kind,
    clusterId: hexToBytes(clusterId, 32),
    from,
    to,
    incarnation: Number(incarnation),
    trustRootVersion: Number(trustRootVersion),
    sequence: Number(sequence),
    nonce: hexToBytes(nonce, 16),
    bodyDigest: hexToBytes(bodyDigest, 32),
    extra: Number(extra ?? 0),
    signature: hexToBytes(signature, 64),
  };
  return isInRange(header) ? header : null;
}

function isInRange(header: AuthHeader): boolean {
  const extraMax = header.kind === "response" ? 0xffff : Number.MAX_SAFE_INTEGER;
  return (
    header.incarnation <= Number.MAX_SAFE_INTEGER &&
    header.sequence <= Number.MAX_SAFE_INTEGER &&
    header.trustRootVersion <= 0xffff_ffff &&
    header.extra <= extraMax
  );
}

/** A signed first frame: u16 header length ‖ header ‖ body. */
export function encodeSignedFrame(header: string, body: Uint8Array): Uint8Array {
  const headerBytes = asciiToBytes(header);
  return concatBytes(new ByteWriter(2).u16(headerBytes.length).finish(), headerBytes, body);
}

/** The body may alias the input. @throws DecodeError */
export function decodeSignedFrame(frame: Uint8Array): { header: string; body: Uint8Array } {
  const reader = new ByteReader(frame);
  const length = reader.u16();
  if (length > AUTH_HEADER_CHARACTERS_MAX) throw new DecodeError("value_invalid", "header is too long");
  let header = "";
  for (const byte of reader.view(length)) {
    if (byte < 0x20 || byte > 0x7e) throw new DecodeError("value_invalid", "header is not printable ASCII");
    header += String.fromCharCode(byte);
  }
  return { header, body: reader.view(reader.remaining) };
}
