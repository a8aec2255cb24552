/**
 * Writes what an answer shows of an anchor: the bytes that JSON.stringify makes of `anchorToJson` and `receiptToJson`.
 * A test holds them against each other, for every kind of leaf.
 */
import { anchorToJson, formatRfc3339 } from "@event-anchoring/api-contract";
import type { AnchorView } from "@event-anchoring/api-contract";
import type { ShownCertificate } from "@event-anchoring/control-contract";
import { LEAF_KIND, isEmptySemanticAnchor, isZero } from "@event-anchoring/protocol";
import type { AnchorId, EventLeaf, SemanticAnchor, SignedEventLeaf } from "@event-anchoring/protocol";
import type { JsonWriter } from "./json-writer.ts";

/** What a receipt has of the certificate that it is under. */
export type ReceiptCertificate = Pick<ShownCertificate, "checkpoint" | "treeSize" | "trustRootVersion">;

/** A leaf, and its inclusion in a tree that is certified. */
export interface ProvedLeaf {
  readonly anchorId: AnchorId;
  readonly leaf: Uint8Array;
  readonly index: number;
  readonly path: readonly Uint8Array[];
  readonly certificate: ReceiptCertificate;
}

const TRUE = Buffer.from("true");
const NULL = Buffer.from("null");
const END = Buffer.from("}");

/** The key of a field, with what comes before it. */
function key(name: string, before = ","): Buffer {
  return Buffer.from(`${before}"${name}":`);
}

const KEY = {
  anchorId: key("anchor_id"),
  originFingerprint: key("origin_fingerprint"),
  depth: key("depth"),
  sequence: key("sequence"),
  parentAnchorId: key("parent_anchor_id"),
  acceptedMs: key("accepted_ms"),
  acceptedAt: key("accepted_at"),
  finality: key("finality"),
  eventHash: key("event_hash"),
  semanticAnchor: key("semantic_anchor"),
  irisRef: key("iris_ref", "{"),
  scrollRef: key("scroll_ref"),
  grantRef: key("grant_ref"),
  bondRef: key("bond_ref"),
  yieldRef: key("yield_ref"),
  eventDataHash: key("event_data_hash"),
  clientEventCommit: key("client_event_commit"),
  clientEventId: key("client_event_id"),
  clientEventSalt: key("client_event_salt"),
  clientEventErased: key("client_event_erased"),
  actorPublicKey: key("actor_public_key"),
  actorSignature: key("actor_signature"),
  receiptAnchorId: key("anchor_id", "{"),
  leaf: key("leaf"),
  sharedLeaf: key("leaf", "{"),
  index: key("index"),
  treeSize: key("tree_size"),
  inclusion: key("inclusion"),
  checkpoint: key("checkpoint"),
  trustRootVersion: key("trust_root_version"),
} as const;

const EVENT = Buffer.from('{"kind":"event"');
const SIGNED_EVENT = Buffer.from('{"kind":"signed_event"');

const FINALITY = { committed: Buffer.from('"committed"'), certified: Buffer.from('"certified"') } as const;

/** The last time that was written: all events of an entry have the same. */
let lastTime = { ms: 0, json: Buffer.from(JSON.stringify(formatRfc3339(0))) };

function timeJson(ms: number): Buffer {
  if (lastTime.ms !== ms) lastTime = { ms, json: Buffer.from(JSON.stringify(formatRfc3339(ms))) };
  return lastTime.json;
}

/** An event is written field by field; of other kinds there are few, and JSON.stringify writes them. */
export function writeAnchor(writer: JsonWriter, view: AnchorView): void {
  const { leaf } = view;
  if (leaf.kind === LEAF_KIND.event) writeEvent(writer.part(EVENT), leaf, view);
  else if (leaf.kind === LEAF_KIND.signedEvent) writeEvent(writer.part(SIGNED_EVENT), leaf, view);
  else writer.value(anchorToJson(view));
}

function writeEvent(writer: JsonWriter, leaf: EventLeaf | SignedEventLeaf, view: AnchorView): void {
  const { clientEvent } = view;
  writer.part(KEY.anchorId).hex(view.anchorId).part(KEY.originFingerprint).hex(leaf.originFingerprint);
  writer.part(KEY.depth).count(leaf.depth).part(KEY.sequence).count(leaf.sequence);
  writeHexOrNull(writer.part(KEY.parentAnchorId), leaf.parentAnchorId);
  writer.part(KEY.acceptedMs).count(leaf.acceptedMs).part(KEY.acceptedAt).part(timeJson(leaf.acceptedMs));
  writer.part(KEY.finality).part(FINALITY[view.finality]).part(KEY.eventHash).hex(leaf.eventHash);
  writeSemanticAnchor(writer.part(KEY.semanticAnchor), leaf.semanticAnchor);
  writeHexOrNull(writer.part(KEY.clientEventCommit), leaf.clientEventCommit);
  if (clientEvent !== null) {
    const { clientEventId, clientEventSalt, isErased } = clientEvent;
    writer.part(KEY.clientEventId).value(clientEventId).part(KEY.clientEventSalt);
    if (clientEventSalt === null) writer.part(NULL);
    else writer.hex(clientEventSalt);
    if (isErased) writer.part(KEY.clientEventErased).part(TRUE);
  }
  if (leaf.kind === LEAF_KIND.signedEvent) {
    writer.part(KEY.actorPublicKey).hex(leaf.actorPublicKey).part(KEY.actorSignature).hex(leaf.actorSignature);
  }
  writer.part(END);
}

function writeHexOrNull(writer: JsonWriter, bytes: Uint8Array): void {
  if (isZero(bytes)) writer.part(NULL);
  else writer.hex(bytes);
}

function writeSemanticAnchor(writer: JsonWriter, anchor: SemanticAnchor): void {
  if (isEmptySemanticAnchor(anchor)) {
    writer.part(NULL);
    return;
  }
  writeHexOrNull(writer.part(KEY.irisRef), anchor.irisRef);
  writeHexOrNull(writer.part(KEY.scrollRef), anchor.scrollRef);
  writeHexOrNull(writer.part(KEY.grantRef), anchor.grantRef);
  writeHexOrNull(writer.part(KEY.bondRef), anchor.bondRef);
  writeHexOrNull(writer.part(KEY.yieldRef), anchor.yieldRef);
  writeHexOrNull(writer.part(KEY.eventDataHash), anchor.eventDataHash);
  writer.part(END);
}

/** A checkpoint as JSON, made once for all the answers that share its certificate. */
const checkpoints = new WeakMap<ReceiptCertificate, Buffer>();

function checkpointJson(certificate: ReceiptCertificate): Buffer {
  const known = checkpoints.get(certificate);
  if (known !== undefined) return known;
  const made = Buffer.from(JSON.stringify(certificate.checkpoint));
  checkpoints.set(certificate, made);
  return made;
}

/** A receipt that names its checkpoint by its place in a list. */
export function writeSharedReceipt(writer: JsonWriter, { leaf, index, path }: ProvedLeaf, checkpoint: number): void {
  writer.part(KEY.sharedLeaf).base64(leaf).part(KEY.index).count(index);
  writer.part(KEY.inclusion).list(path, (hash) => writer.base64(hash));
  writer.part(KEY.checkpoint).count(checkpoint).part(END);
}

export function writeReceipt(writer: JsonWriter, { anchorId, leaf, index, path, certificate }: ProvedLeaf): void {
  writer.part(KEY.receiptAnchorId).hex(anchorId).part(KEY.leaf).base64(leaf);
  writer.part(KEY.index).count(index).part(KEY.treeSize).count(certificate.treeSize);
  writer.part(KEY.inclusion).list(path, (hash) => writer.base64(hash));
  writer
    .part(KEY.checkpoint)
    .part(checkpointJson(certificate))
    .part(KEY.trustRootVersion)
    .count(certificate.trustRootVersion);
  writer.part(END);
}
