/** `Prefer: witnessed` of a write: its receipts under witnessed heads, if these come in time. */
import { bytesToHex, hexToBytes, toAnchorId, toOriginFingerprint } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import { loadAnchors, proveAnchors, receiptAnswer } from "../reading/anchor-view.ts";
import type { ProvedAnchor } from "../reading/anchor-view.ts";
import { witnessedIfPossible, witnessedRead } from "../reading/witnessed-read.ts";
import type { LeafPlace } from "../reading/witnessed-read.ts";
import type { CreatedRecord } from "./created-answer.ts";
import type { HandlerDependencies, HandlerRequest } from "./handler.ts";

interface CertifiedRecord extends LeafPlace {
  readonly record: CreatedRecord;
  readonly anchorId: AnchorId;
}

/** null: it has no receipt. */
function certifiedRecord(record: CreatedRecord): CertifiedRecord | null {
  if (record.kind === "appended") {
    const { view, proved } = record;
    const { originFingerprint, depth } = view.leaf;
    return proved === null ? null : { record, anchorId: view.anchorId, originFingerprint, depth };
  }
  const { anchor, receipt } = record.answer;
  if (receipt === null) return null;
  const originFingerprint = toOriginFingerprint(hexToBytes(anchor.origin_fingerprint));
  return { record, anchorId: toAnchorId(hexToBytes(anchor.anchor_id)), originFingerprint, depth: anchor.depth };
}

function provedBy(
  record: CreatedRecord,
  { certificate, receipt }: ProvedAnchor,
  { crypto }: HandlerDependencies,
): CreatedRecord {
  if (record.kind === "replayed") {
    const answer = { ...record.answer, receipt: receiptAnswer(receipt, certificate, crypto.sha256) };
    return { ...record, answer, isWitnessed: true };
  }
  const { proved } = record;
  if (proved === null) return record;
  return { ...record, proved: { ...proved, path: receipt.path, certificate }, isWitnessed: true };
}

/**
 * What the records are replaced by: those with receipts have them under witnessed heads. Empty if no such heads come in
 * time, or cannot be had: what is certified is answered as certified, whatever else fails.
 */
export async function underWitnessedHeads(
  records: readonly CreatedRecord[],
  { deadline }: HandlerRequest,
  dependencies: HandlerDependencies,
): Promise<ReadonlyMap<CreatedRecord, CreatedRecord>> {
  const certified = records.map(certifiedRecord).filter((each) => each !== null);
  if (certified.length === 0) return new Map();
  const replace = async (): Promise<ReadonlyMap<CreatedRecord, CreatedRecord>> => {
    const replaced = new Map<CreatedRecord, CreatedRecord>();
    const read = await witnessedRead(dependencies, certified, deadline);
    if (read === null) return replaced;
    const anchors = await loadAnchors(
      read,
      certified.map(({ anchorId }) => anchorId),
    );
    const proved = await proveAnchors(read, anchors, dependencies.crypto.sha256);
    const byId = new Map(proved.map((each) => [bytesToHex(each?.anchor.anchorId ?? new Uint8Array(0)), each]));
    for (const { record, anchorId } of certified) {
      const found = byId.get(bytesToHex(anchorId)) ?? null;
      if (found !== null) replaced.set(record, provedBy(record, found, dependencies));
    }
    return replaced;
  };
  return (await witnessedIfPossible(replace, dependencies.logger)) ?? new Map();
}
