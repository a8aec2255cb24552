/**
 * A request on its way to being signed, in a file: what the SDK has prepared, and the signatures so far. Where two
 * parties sign, the second one's bytes exist only after the first signature. docs/PROTOCOL.md, "What parties sign".
 */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Signer } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import {
  InvalidInput,
  fromWireNames,
  prepareClaimAnchor,
  prepareEventAnchor,
  prepareGrantAnchor,
  prepareRevocation,
  wireName,
} from "@event-anchoring/sdk";
import type { JsonBody, SignerRole } from "@event-anchoring/sdk";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { isRecord } from "../files/nearest-cluster.ts";
import type { Fields } from "../service/service.ts";

const PREPARE = {
  claim: prepareClaimAnchor,
  grant: prepareGrantAnchor,
  event: prepareEventAnchor,
  revocation: prepareRevocation,
} as const;

export type DraftKind = keyof typeof PREPARE;
type Prepared<Kind extends DraftKind> = ReturnType<(typeof PREPARE)[Kind]>;

export interface Draft<Kind extends DraftKind = DraftKind> {
  readonly kind: Kind;
  readonly prepared: Prepared<Kind>;
  /** In signing order, verified. */
  readonly signatures: readonly Uint8Array[];
  /** What a revocation ends, and where it is written if not there. */
  readonly target: RevocationTarget | null;
}

/** By its names in the file. */
type RevocationTarget = Readonly<Record<"target_kind" | "target_origin_fingerprint" | "target_anchor_id", string>> & {
  readonly origin_fingerprint?: string;
};

/** The signature that is missing, and over what. */
export interface NextSignature {
  readonly party: SignerRole;
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** The exact bytes that are signed. */
  readonly payload: Uint8Array;
}

const FORMAT = "anchorctl/request/v1";
const HEX_32 = /^[0-9a-fA-F]{64}(?![\s\S])/u;
const HEX_64 = /^[0-9a-fA-F]{128}(?![\s\S])/u;

function invalid(field: string, wanted: string): CliError {
  return new CliError(EXIT.usage, "invalid_input", `${field} ${wanted}`);
}

/** @param fields by their wire names @throws CliError `invalid_input` naming the field */
export function prepare<Kind extends DraftKind>(kind: Kind, fields: Fields): Prepared<Kind> {
  try {
    // Whatever the types say, a file may hold anything: the functions refuse it.
    return PREPARE[kind](fromWireNames(fields) as never) as Prepared<Kind>;
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error;
    throw invalid(wireName(error.field), error.message.slice(error.field.length + 2));
  }
}

/**
 * @param fields by their wire names, with the signatures that there are
 * @throws CliError `invalid_input` naming the field; `signature_invalid`
 */
export function draftOf<Kind extends DraftKind>(kind: Kind, fields: Fields): Draft<Kind> {
  const { target, content } = kind === "revocation" ? splitRevocation(fields) : { target: null, content: fields };
  const roles = ["subject", "issuer", "grantor", "witness", "actor", "revoker"].map((role) => `${role}_signature`);
  const said = Object.entries(content).filter(([name]) => !roles.includes(name));
  const prepared = prepare(kind, Object.fromEntries(said));
  let draft: Draft<Kind> = { kind, prepared, signatures: [], target };
  for (const name of roles) {
    const value = content[name];
    if (value === undefined || value === null) continue;
    if (typeof value !== "string" || !HEX_64.test(value)) throw invalid(name, "must be 128 hex digits");
    if (`${nextSignature(draft)?.party ?? ""}_signature` !== name)
      throw invalid(name, "is no signature that comes next");
    draft = withSignature(draft, hexToBytes(value.toLowerCase(), 64));
  }
  return draft;
}

/** The target of a revocation is in the path of the request, not in its body. */
function splitRevocation(fields: Fields): { readonly target: RevocationTarget; readonly content: Fields } {
  const { target_kind: kind, origin_fingerprint: origin, ...content } = fields;
  if (kind !== "claim" && kind !== "grant") throw invalid("target_kind", "must be claim or grant");
  const hex = (name: string, value: unknown): string => {
    if (typeof value === "string" && HEX_32.test(value)) return value.toLowerCase();
    throw invalid(name, "must be 64 hex digits");
  };
  const target = {
    target_kind: kind,
    target_origin_fingerprint: hex("target_origin_fingerprint", content["target_origin_fingerprint"]),
    target_anchor_id: hex("target_anchor_id", content["target_anchor_id"]),
    ...(origin === undefined || origin === null ? {} : { origin_fingerprint: hex("origin_fingerprint", origin) }),
  };
  return { target, content };
}

/** Null if all signers have signed. An event without an actor, and an unsigned revocation, need no signature. */
export function nextSignature({ prepared, signatures }: Draft): NextSignature | null {
  const next = prepared.nextPayload(signatures);
  const publicKey = next?.publicKey ?? null;
  return next === null || publicKey === null ? null : { party: next.role, publicKey, payload: next.bytes };
}

/** @throws CliError `already_signed` */
function missingIn(draft: Draft): NextSignature {
  const next = nextSignature(draft);
  if (next === null) throw new CliError(EXIT.usage, "already_signed", "everybody who signs has signed");
  return next;
}

/**
 * The draft with its next signature.
 * @throws CliError `signature_invalid` unless the signature is by the party's key over the party's bytes
 */
export function withSignature<Kind extends DraftKind>(draft: Draft<Kind>, signature: Uint8Array): Draft<Kind> {
  const next = missingIn(draft);
  if (!nodeCrypto.ed25519Verify(next.publicKey, next.payload, signature)) {
    const message = `this is no signature of the ${next.party} (key ${bytesToHex(next.publicKey)}) over these bytes`;
    throw new CliError(EXIT.invalid, "signature_invalid", message);
  }
  return { ...draft, signatures: [...draft.signatures, signature] };
}

/** The draft signed by each in turn. @throws CliError if the next to sign is somebody else */
export function signedBy(draft: Draft, signers: readonly Signer[]): Draft {
  return signers.reduce((signed, signer) => withSignature(signed, signer.sign(missingIn(signed).payload)), draft);
}

/** What is sent. @throws CliError `not_signed` while a signature is missing */
export function requestOf(draft: Draft): { readonly path: string; readonly body: JsonBody } {
  const next = nextSignature(draft);
  if (next !== null) throw new CliError(EXIT.usage, "not_signed", `the ${next.party} has not signed yet`);
  const { kind, target } = draft;
  const body = signedFields(draft);
  if (target === null) return { path: `/v1/${kind}-anchors`, body };
  const { target_kind: targetKind, target_anchor_id: anchorId, origin_fingerprint: origin } = target;
  const elsewhere = origin === undefined ? {} : { origin_fingerprint: origin };
  return { path: `/v1/${targetKind}-anchors/${anchorId}/revoke`, body: { ...elsewhere, ...body } };
}

function signedFields({ prepared, signatures }: Draft): JsonBody {
  const signed = prepared.signingOrder.flatMap((role, at) => {
    const signature = signatures[at];
    return signature === undefined ? [] : [[`${role}_signature`, bytesToHex(signature)] as const];
  });
  return { ...prepared.unsigned, ...Object.fromEntries(signed) };
}

/** Everything that was said, by its wire names: lower case, and what is empty left out. */
export function fieldsOf(draft: Draft): JsonBody {
  return { ...draft.target, ...signedFields(draft) };
}

/** The draft with what its next signer needs, for people and other programs; a reader computes that anew. */
export function formatDraft(draft: Draft): string {
  const { kind } = draft;
  return `${JSON.stringify({ format: FORMAT, kind, request: fieldsOf(draft), next: nextJson(draft) }, null, 2)}\n`;
}

/** The next signature for --json. */
export function nextJson(draft: Draft): object | null {
  const next = nextSignature(draft);
  if (next === null) return null;
  return {
    party: next.party,
    public_key: bytesToHex(next.publicKey),
    payload: bytesToHex(next.payload),
    digest: bytesToHex(nodeCrypto.sha256(next.payload)),
  };
}

/** @throws CliError `draft_malformed`, `invalid_input`, `signature_invalid` */
export function parseDraft(text: string, path: string): Draft {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new CliError(EXIT.usage, "draft_malformed", `${path} is no JSON`, error);
  }
  const { format, kind, request } = isRecord(value) ? value : {};
  if (format !== FORMAT || !isKind(kind) || !isRecord(request)) {
    throw new CliError(EXIT.usage, "draft_malformed", `${path} is no request of anchorctl prepare (${FORMAT})`);
  }
  return draftOf(kind, request);
}

function isKind(value: unknown): value is DraftKind {
  return typeof value === "string" && Object.hasOwn(PREPARE, value);
}
