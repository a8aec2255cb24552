import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { bytesToHex, parseCheckpoint, parseNote, receiptToJson } from "@event-anchoring/protocol";
import { trustRootsOf } from "../src/cluster/trust-roots.ts";
import type { TestCluster } from "../src/cluster/test-cluster.ts";
import { wrongAnswers } from "../src/faults/questions.ts";
import { signedFaults } from "../src/faults/signed-parts.ts";
import { createReceiptMaker } from "../src/receipts/receipt-maker.ts";

// What a quorum has signed is verified wherever it stands in an answer, and what is said beside it is compared.

const SIGNED_S = 1_790_000_000;
const maker = createReceiptMaker();
const rootThk = bytesToHex(maker.rootThk);
const trustRoots = trustRootsOf({ document: maker.trustRootDocument, root_thk: rootThk });
const eventHash = nodeCrypto.sha256(Uint8Array.of(1));
const receipt = receiptToJson(maker.receipt(eventHash, { signedS: SIGNED_S }), 1, nodeCrypto.sha256);
const other = receiptToJson(maker.receipt(nodeCrypto.sha256(Uint8Array.of(2))), 1, nodeCrypto.sha256);
const { checkpoint } = receipt;
const rootHash = bytesToHex(parseCheckpoint(parseNote(checkpoint).text).rootHash);
const anchor = { anchor_id: receipt.anchor_id, event_hash: bytesToHex(eventHash) };
const cosigners = [1, 2].map((at) => ({ name: `receipts.test/node/n${at}`, time: SIGNED_S }));
const latest = {
  origin_fingerprint: bytesToHex(maker.originFingerprint),
  tree_size: 2,
  root_hash: rootHash,
  certified_at: new Date(SIGNED_S * 1000).toISOString(),
  anchor,
  checkpoint,
  quorum: { threshold: 2, trust_root_version: 1, cosigners },
  receipt,
};

/** Another digit in the last signature: the note is as long as before. */
function damaged(note: string): string {
  const at = note.length - 20;
  return `${note.slice(0, at)}${note[at] === "A" ? "B" : "A"}${note.slice(at + 1)}`;
}

describe("an answer with signed parts", () => {
  test("is good where they stand: a latest anchor, a list, a proof of consistency, a receipt alone", () => {
    expect(signedFaults(latest, trustRoots)).toEqual([]);
    expect(
      signedFaults(
        {
          items: [
            { anchor, receipt },
            { anchor, receipt: null },
          ],
        },
        trustRoots,
      ),
    ).toEqual([]);
    const { origin_fingerprint, tree_size, root_hash } = latest;
    expect(signedFaults({ origin_fingerprint, to: { tree_size, root_hash, checkpoint } }, trustRoots)).toEqual([]);
    expect(signedFaults({ origin_fingerprint, to: { tree_size, root_hash, checkpoint: null } }, trustRoots)).toEqual(
      [],
    );
    expect(signedFaults(receipt, trustRoots)).toEqual([]);
  });

  test.each([
    ["the checkpoint of a latest anchor", { ...latest, checkpoint: damaged(checkpoint) }, ".checkpoint: "],
    ["its receipt", { ...latest, receipt: { ...receipt, checkpoint: damaged(checkpoint) } }, ".receipt: "],
    ["a receipt in a list", { items: [{ receipt: { ...receipt, checkpoint: damaged(checkpoint) } }] }, ".items[0]"],
    ["the newer head of a consistency proof", { to: { checkpoint: damaged(checkpoint) } }, ".to.checkpoint: "],
    ["a checkpoint that is no note", { checkpoint: "receipts.test\n2\n" }, ".checkpoint: "],
    ["a receipt without its leaf", { receipt: { ...receipt, leaf: undefined } }, ".receipt: "],
    ["another anchor's receipt", { anchor, receipt: other }, ".receipt: "],
    ["a receipt that says another id", { receipt: { ...receipt, anchor_id: other.anchor_id } }, ".receipt: "],
    ["the size of the tree", { ...latest, tree_size: 3 }, ".tree_size: "],
    ["the root", { ...latest, root_hash: "00".repeat(32) }, ".root_hash: "],
    ["the origin", { ...latest, origin_fingerprint: "00".repeat(32) }, ".origin_fingerprint: "],
    ["the origin above", { origin_fingerprint: "00".repeat(32), to: { checkpoint } }, ".to.origin_fingerprint: "],
    ["the time", { ...latest, certified_at: "2026-01-01T00:00:00.000Z" }, ".certified_at: "],
    ["a cosigner", quorumOf({ cosigners: [cosigners[0], { ...cosigners[1], time: SIGNED_S + 1 }] }), ".quorum: "],
    ["the threshold", quorumOf({ threshold: 1 }), ".quorum: "],
    ["the number of cosigners", quorumOf({ cosigners: cosigners.slice(1) }), ".quorum: "],
  ])("is found if %s is wrong", (_what, answer, where) => {
    const faults = signedFaults(answer, trustRoots);
    expect(faults).toHaveLength(1);
    expect(faults[0]).toContain(where);
  });
});

describe("an answer that is compared with a sound one", () => {
  const path = "/v1/event-anchors/latest";
  const setup = { cluster: { file: { trust_root: { document: maker.trustRootDocument, root_thk: rootThk } } } };
  const answer = (body: object): { status: number; text: string } => ({ status: 200, text: JSON.stringify(body) });
  const judged = (body: object): readonly string[] => {
    const asked = [{ path, body: null, about: null }];
    return wrongAnswers(setup as unknown as TestCluster, asked, [answer(latest)], [answer(body)]);
  };

  test("is good with other cosignatures", () => {
    const signedLater = receiptToJson(maker.receipt(eventHash, { signedS: SIGNED_S + 1 }), 1, nodeCrypto.sha256);
    expect(judged(latest)).toEqual([]);
    expect(judged({ ...latest, receipt: signedLater })).toEqual([]);
  });

  test("is found with a damaged checkpoint or receipt, and without one", () => {
    expect(judged({ ...latest, checkpoint: damaged(checkpoint) })).toHaveLength(1);
    expect(judged({ ...latest, receipt: { ...receipt, checkpoint: damaged(checkpoint) } })).toHaveLength(1);
    expect(judged({ ...latest, receipt: null })).toHaveLength(1);
    expect(judged({ ...latest, quorum: undefined })).toHaveLength(1);
  });
});

function quorumOf(changes: object): object {
  return { ...latest, quorum: { ...latest.quorum, ...changes } };
}
