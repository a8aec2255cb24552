import { nodeCrypto } from "@event-anchoring/node-crypto";
import { LEAF_KIND, bytesToHex, clientEventCommit, equalBytes, isZero } from "@event-anchoring/protocol";
import type { Leaf } from "@event-anchoring/protocol";
import { namesRecorder } from "../tables/anchors.ts";
import type { SnapshotClientEvent } from "../snapshot/snapshot-format.ts";
import type { Findings, RowName } from "./findings.ts";

/** A claim or a grant has the API client that recorded it; no other leaf has one. */
export function judgeRecorder(leaf: Leaf, recordedBy: Uint8Array | null, name: RowName, findings: Findings): void {
  if (namesRecorder(leaf.kind) === (recordedBy !== null)) return;
  const shouldBe = recordedBy === null ? "the API client that recorded it" : `nothing for a leaf of kind ${leaf.kind}`;
  findings.add(name, "api_client_id", recordedBy === null ? "null" : bytesToHex(recordedBy), shouldBe);
}

/** A leaf commits to id and salt: they are stored, or were erased, or never existed. */
export function judgeClientEvent(
  leaf: Leaf,
  clientEvent: SnapshotClientEvent | null,
  name: RowName,
  findings: Findings,
): void {
  const isEvent = leaf.kind === LEAF_KIND.event || leaf.kind === LEAF_KIND.signedEvent;
  const hasCommit = isEvent && !isZero(leaf.clientEventCommit);
  if (clientEvent === null) {
    if (hasCommit) findings.add(name, "api_client_id", "null", "the API client whose id the leaf commits to");
    return;
  }
  if (!isEvent || !hasCommit) {
    findings.add(name, "api_client_id", bytesToHex(clientEvent.apiClientId), "null: the leaf commits to no id");
    return;
  }
  if (clientEvent.isErased) return;
  const { salt, clientEventId } = clientEvent;
  const commit = clientEventCommit(salt, clientEventId, nodeCrypto.sha256);
  if (equalBytes(commit, leaf.clientEventCommit)) return;
  const [is, shouldBe] = [commit, leaf.clientEventCommit].map(bytesToHex);
  findings.add(name, "client_event_id", `an id and a salt that give ${is}`, `those that give ${shouldBe}`);
}
