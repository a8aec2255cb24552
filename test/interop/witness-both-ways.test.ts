import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import type { WitnessLine } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { parseNote } from "@event-anchoring/protocol";
import { ForeignLog } from "@event-anchoring/testkit/records";
import { httpWitnessTransport } from "../../packages/control-plane/src/process/witness-http.ts";
import { submitHead } from "../../packages/control-plane/src/witnessing/submit-head.ts";
import { isGoodWitnessLine } from "../../packages/control-plane/src/witnessing/witness-lines.ts";
import { OwnWitness } from "./own-witness.ts";

// How this service asks witnesses, and how it is one: the two halves meet over HTTP, without a cluster.

const transport = httpWitnessTransport();
const LOG = new ForeignLog("log.example/one");
const FORK = new ForeignLog("log.example/one", (index) => `other ${index}`);
const UNKNOWN = new ForeignLog("log.example/unknown");

let witness: OwnWitness;
beforeEach(async () => {
  witness = await OwnWitness.create("witness.example/n1", LOG.vkey);
  await witness.start();
});
afterEach(() => witness.end());

function submit(log: ForeignLog, treeSize: number, knownSize: number, change: { readonly checkpoint?: string } = {}) {
  const { checkpoint = log.checkpoint(treeSize) } = change;
  const { text } = parseNote(checkpoint);
  const head = { treeSize, checkpoint, proveGrowth: async (oldSize: number) => log.proof(oldSize, treeSize) };
  const asked = { name: witness.vkey.name, vkey: witness.vkey, url: witness.prefix };
  const isGood = (line: WitnessLine) => isGoodWitnessLine(asked, text, line, nodeCrypto);
  const parts = { transport, isGood, signal: AbortSignal.timeout(10_000) };
  return submitHead(head, asked, knownSize, parts);
}

describe("a log of ours with a node of ours as its witness", () => {
  test("gets a good line, from any size that it believes the witness to know, over a restart too", async () => {
    expect(await submit(LOG, 3, 0)).toMatchObject({ kind: "line" });
    expect(await submit(LOG, 8, 3)).toMatchObject({ kind: "line" });
    expect(await submit(LOG, 9, 0)).toMatchObject({ kind: "line" });
    await witness.stop();
    await witness.start();
    expect(await submit(LOG, 12, 12)).toMatchObject({ kind: "line" });
    expect(await submit(LOG, 12, 12)).toMatchObject({ kind: "line" });
  });

  test("is told what the witness refuses, each by its status", async () => {
    expect(await submit(UNKNOWN, 3, 0)).toMatchObject({ kind: "failed", failure: "log_unknown" });
    const unsigned = LOG.checkpoint(3).replace(/\n3\n/, "\n4\n");
    expect(await submit(LOG, 4, 0, { checkpoint: unsigned })).toMatchObject({ failure: "log_key_unknown" });
    await submit(LOG, 8, 0);
    expect(await submit(LOG, 5, 0)).toEqual({ kind: "ahead", treeSize: 8 });
    expect(await submit(FORK, 9, 8)).toMatchObject({ kind: "failed", failure: "other_history" });
    expect(await submit(FORK, 8, 8)).toMatchObject({ kind: "failed", failure: "other_history" });
  });
});
