/** The leaf walk as fsck makes it: every fault is a finding, and the walk goes on. */
import { LeafWalk } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Findings, RowName } from "./findings.ts";

export function anchorRow(sequence: number): RowName {
  return { table: "state.anchors", key: `sequence ${sequence}`, at: sequence };
}

export function leafWalkInto(findings: Findings): LeafWalk {
  return new LeafWalk(nodeCrypto.sha256, ({ sequence, is, shouldBe }) => {
    findings.add(anchorRow(sequence), "leaf", is, shouldBe);
  });
}
