/**
 * A request on its way to being signed: what it says, who signs what next, and what is sent in the end. Where two
 * parties sign, the second one's bytes exist only after the first signature. docs/PROTOCOL.md, "What parties sign".
 */
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { textAt } from "../answer-fields.ts";
import type { Fields } from "../answer-fields.ts";
import { CliError, EXIT } from "../cli-error.ts";
import { isRecord } from "../nearest-cluster.ts";
import { DRAFT_KINDS, readDraftFields } from "./draft-fields.ts";
import type { DraftKind } from "./draft-fields.ts";
import { payloadOf } from "./payload-of.ts";

export interface Draft {
  readonly kind: DraftKind;
  /** Wire fields, checked, with the signatures so far. */
  readonly fields: Fields;
}

export type Party = "subject" | "issuer" | "grantor" | "witness" | "actor" | "revoker";

/** The signature that is missing, and over what. */
export interface NextSignature {
  readonly party: Party;
  /** 32 bytes. */
  readonly publicKey: Uint8Array;
  /** The exact bytes that are signed. */
  readonly payload: Uint8Array;
}

const PARTIES: Readonly<Record<DraftKind, readonly Party[]>> = {
  claim: ["subject", "issuer"],
  grant: ["grantor", "witness"],
  event: ["actor"],
  revocation: ["revoker"],
};

const FORMAT = "anchorctl/request/v1";

/** @throws CliError `invalid_input` naming the field */
export function draftOf(kind: DraftKind, fields: Fields): Draft {
  return { kind, fields: readDraftFields(kind, fields) };
}

/** Null if all who sign have signed. An event without an actor, and an operator's revocation, need nobody. */
export function nextSignature(draft: Draft): NextSignature | null {
  const party = PARTIES[draft.kind].find(
    (it) => draft.fields[`${it}_signature`] === undefined && draft.fields[`${it}_public_key`] !== undefined,
  );
  if (party === undefined) return null;
  const publicKey = hexToBytes(textAt(draft.fields, `${party}_public_key`), 32);
  return { party, publicKey, payload: payloadOf(draft, party) };
}

/**
 * The draft with its next signature.
 * @throws CliError `signature_invalid` unless the signature is by the party's key over the party's bytes
 */
export function withSignature(draft: Draft, signature: Uint8Array): Draft {
  const next = nextSignature(draft);
  if (next === null) throw new CliError(EXIT.usage, "already_signed", "everybody who signs has signed");
  if (!nodeCrypto.ed25519Verify(next.publicKey, next.payload, signature)) {
    const message = `this is no signature of the ${next.party} (key ${bytesToHex(next.publicKey)}) over these bytes`;
    throw new CliError(EXIT.invalid, "signature_invalid", message);
  }
  return { ...draft, fields: { ...draft.fields, [`${next.party}_signature`]: bytesToHex(signature) } };
}

/** Every signature that is there, verified again. @throws CliError `signature_invalid` */
export function assertSignatures(draft: Draft): void {
  const signatures = PARTIES[draft.kind].map((party) => `${party}_signature`);
  const unsigned = Object.fromEntries(Object.entries(draft.fields).filter(([name]) => !signatures.includes(name)));
  let rebuilt: Draft = { ...draft, fields: unsigned };
  for (const name of signatures) {
    const signature = draft.fields[name];
    if (typeof signature !== "string") return;
    rebuilt = withSignature(rebuilt, hexToBytes(signature, 64));
  }
}

/** What is sent. @throws CliError `not_signed` while a signature is missing */
export function requestOf(draft: Draft): { readonly path: string; readonly body: Fields } {
  const next = nextSignature(draft);
  if (next !== null) throw new CliError(EXIT.usage, "not_signed", `the ${next.party} has not signed yet`);
  const { kind, fields } = draft;
  if (kind !== "revocation") return { path: `/v1/${kind}-anchors`, body: fields };
  const {
    target_kind: targetKind,
    target_anchor_id: target,
    target_origin_fingerprint: _origin,
    ...body
  } = fields as Readonly<Record<string, string>>;
  return { path: `/v1/${targetKind ?? ""}-anchors/${target ?? ""}/revoke`, body };
}

/** The draft with what its next signer needs, for people and other programs; a reader computes that anew. */
export function formatDraft(draft: Draft): string {
  const { kind, fields: request } = draft;
  return `${JSON.stringify({ format: FORMAT, kind, request, next: nextJson(draft) }, null, 2)}\n`;
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
  const kind = isRecord(value) ? DRAFT_KINDS.find((it) => it === value.kind) : undefined;
  if (!isRecord(value) || value.format !== FORMAT || kind === undefined || !isRecord(value.request)) {
    throw new CliError(EXIT.usage, "draft_malformed", `${path} is no request of anchorctl prepare (${FORMAT})`);
  }
  const draft = draftOf(kind, value.request);
  assertSignatures(draft);
  return draft;
}
