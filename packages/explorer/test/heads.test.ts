import { describe, expect, test } from "@jest/globals";
import { hexToBytes, receiptFromJson, verifyTrustRootChain } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { verifyCheckpoint } from "@event-anchoring/sdk";
import { NO_ALARMS } from "../src/browse/alarms.ts";
import { headsOf } from "../src/browse/heads.ts";
import type { Head } from "../src/browse/heads.ts";
import { receipts } from "./vector-bundles.ts";

/** The head of a vector's checkpoint, as Browse shows it. */
function headOf(name: string): Head | undefined {
  const one = receipts.witnessed.good.find((each) => each.name === name);
  if (one === undefined) throw new RangeError(`no vector is called ${name}`);
  const documents = receipts.trust_roots.slice(0, one.trust_root_versions);
  const pinnedRootThk = hexToBytes(receipts.pinned_root_thk, 32);
  const verified = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verified.result === "refused") throw new Error(verified.detail);
  const { chain } = verified;
  const checkpoint = verifyCheckpoint(receiptFromJson(one.receipt).receipt.checkpoint, chain);
  const { originFingerprint, treeSize } = checkpoint;
  const origin = { originFingerprint, treeSize, previousTreeSize: null, checkpoint };
  const look = { alarms: [], unanswered: [], origins: [origin], trustRootVersion: 4 };
  const heads = headsOf(look, { chain, pin: {} }, NO_ALARMS, []);
  return heads.find((each) => each.originFingerprint === originFingerprint);
}

describe("a head in Browse", () => {
  test("says who has witnessed it", () => {
    const head = headOf("as many as are needed");
    expect(head?.text).toContain("signed by 2 nodes, a quorum, witnessed by north, south;");
    expect(head?.witnesses).toEqual(["north at 2026-02-02T02:41:40Z", "south at 2026-02-02T02:41:45Z"]);
    expect(head?.cosigners).toHaveLength(2);
  });

  test("does not say so of one that too few have signed, and shows who has", () => {
    const head = headOf("one too few, not demanded");
    expect([head?.mark, head?.text]).toEqual(["pass", expect.not.stringContaining("witnessed")]);
    expect(head?.witnesses).toEqual(["west at 2026-02-02T02:41:40Z"]);
  });
});
