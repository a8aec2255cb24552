import { formatRfc3339 } from "@event-anchoring/api-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { ProofError, hexToBytes, receiptFromJson, verifyReceipt } from "@event-anchoring/protocol";
import type { ReceiptExpectation, TrustRootChain } from "@event-anchoring/protocol";
import { VerificationError, verifyCheckpoint } from "@event-anchoring/sdk";
import type { VerifiedCheckpoint } from "@event-anchoring/sdk";

interface AnswerPart {
  readonly [name: string]: unknown;
}

/**
 * Verifies every receipt, checkpoint and quorum anywhere in an answer by the trust root, and compares them with what
 * the answer says beside them.
 * @returns a line for each that is wrong
 */
export function signedFaults(answer: unknown, trustRoots: TrustRootChain): readonly string[] {
  return faultsIn(answer, { at: "", origin: null, expect: {} }, trustRoots);
}

/** @param expect what is known of the anchor. @returns null: the receipt is good */
export function receiptFault(value: unknown, trustRoots: TrustRootChain, expect: ReceiptExpectation): string | null {
  try {
    const { receipt, anchorId } = receiptFromJson(value);
    // What it states about itself counts too.
    const { failure } = verifyReceipt({ receipt, trustRoots, expect: { anchorId, ...expect } }, nodeCrypto);
    return failure === null ? null : `the receipt: ${failure.step} ${failure.code}`;
  } catch (error) {
    if (!(error instanceof ProofError)) throw error;
    return `the receipt: ${error.code}`;
  }
}

interface Place {
  readonly at: string;
  /** The origin that the answer is about, in hex; null: it has not said so. */
  readonly origin: string | null;
  /** What is known of the anchor of a receipt that stands here. */
  readonly expect: ReceiptExpectation;
}

function faultsIn(value: unknown, place: Place, trustRoots: TrustRootChain): readonly string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => faultsIn(item, { ...place, at: `${place.at}[${at}]` }, trustRoots));
  }
  if (!isObject(value)) return [];
  if (isReceipt(value)) {
    const fault = receiptFault(value, trustRoots, place.expect);
    return fault === null ? [] : [`${place.at}: ${fault}`];
  }
  const origin = typeof value["origin_fingerprint"] === "string" ? value["origin_fingerprint"] : place.origin;
  const here = { at: place.at, origin, expect: expectedBeside(value) };
  const inside = Object.entries(value).flatMap(([name, member]) => {
    return faultsIn(member, { ...here, at: `${place.at}.${name}` }, trustRoots);
  });
  return [...headFaults(value, here, trustRoots), ...inside];
}

/** By what it holds, not by its name: any part of a leaf that is proved, with the note that it is proved by. */
function isReceipt(value: AnswerPart): boolean {
  return ("leaf" in value || "inclusion" in value) && typeof value["checkpoint"] === "string";
}

/** The receipt beside an anchor is that anchor's. */
function expectedBeside({ anchor }: AnswerPart): ReceiptExpectation {
  if (!isObject(anchor)) return {};
  const { anchor_id: id, event_hash: hash } = anchor;
  return {
    ...(typeof id === "string" ? { anchorId: hexToBytes(id, 32) } : {}),
    ...(typeof hash === "string" ? { eventHash: hexToBytes(hash, 32) } : {}),
  };
}

/** The checkpoint of a part that tells of a tree, and what the part says of it. */
function headFaults(part: AnswerPart, { at, origin }: Place, trustRoots: TrustRootChain): readonly string[] {
  const { checkpoint: note } = part;
  // Shared receipts name the place of their checkpoint; null says that there is none.
  if (typeof note !== "string") return [];
  const verified = verifiedHead(note, trustRoots);
  if (typeof verified === "string") return [`${at}.checkpoint: ${verified}`];
  const told: readonly (readonly [string, unknown, unknown])[] = [
    ["origin_fingerprint", origin, verified.originFingerprint],
    ["tree_size", part["tree_size"], verified.treeSize],
    ["root_hash", part["root_hash"], verified.rootHash],
  ];
  const differing = told.filter(([, said, signed]) => said !== undefined && said !== null && said !== signed);
  return [
    ...differing.map(([name, said, signed]) => `${at}.${name}: ${String(said)}, its checkpoint ${String(signed)}`),
    ...quorumFaults(part, verified, trustRoots).map((line) => `${at}.${line}`),
  ];
}

/** @returns what is wrong with it, else what it says */
function verifiedHead(note: string, trustRoots: TrustRootChain): VerifiedCheckpoint | string {
  try {
    return verifyCheckpoint(note, trustRoots);
  } catch (error) {
    if (!(error instanceof VerificationError)) throw error;
    return error.message;
  }
}

/** Who is said to have cosigned has, and they are enough; the time is that of one of them. */
function quorumFaults(part: AnswerPart, head: VerifiedCheckpoint, trustRoots: TrustRootChain): readonly string[] {
  const { quorum, certified_at: certifiedAt } = part;
  if (!isObject(quorum)) return [];
  const signed = new Set(head.cosigners.map(({ name, time }) => `${name} ${time}`));
  const named = Array.isArray(quorum["cosigners"]) ? (quorum["cosigners"] as readonly AnswerPart[]) : [];
  const strangers = named.filter(({ name, time }) => !signed.has(`${String(name)} ${String(time)}`));
  const version = trustRoots.versions.find(({ trustRoot }) => trustRoot.version === quorum["trust_root_version"]);
  const threshold = version?.trustRoot.quorum;
  const times = head.cosigners.map(({ time }) => formatRfc3339(time * 1000));
  const isTimed = certifiedAt === undefined || (typeof certifiedAt === "string" && times.includes(certifiedAt));
  return [
    ...strangers.map((line) => `quorum: ${JSON.stringify(line)} is no line of the checkpoint`),
    ...(threshold === quorum["threshold"] ? [] : [`quorum: a threshold of ${String(quorum["threshold"])}`]),
    ...(named.length >= (threshold ?? Infinity) ? [] : [`quorum: ${named.length} cosigners`]),
    ...(isTimed ? [] : [`certified_at: ${JSON.stringify(certifiedAt)} is the time of no cosignature`]),
  ];
}

function isObject(value: unknown): value is AnswerPart {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
