import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import {
  appendToFrontier,
  bytesToHex,
  emptyFrontier,
  frontierRoot,
  toOriginFingerprint,
} from "@event-anchoring/protocol";
import { brokenPromises } from "../src/faults/checks.ts";
import { brokenByLog } from "../src/faults/log-checks.ts";
import { Recorder } from "../src/faults/recorder.ts";
import type { AnchoredRecord, SeenHead } from "../src/faults/recorder.ts";
import type { StoredLeaf } from "../src/faults/stored-log.ts";

const ORIGIN = "0a".repeat(32);
const NOW_MS = 1_000_000;
const idOf = (sequence: number): string => bytesToHex(nodeCrypto.sha256(Uint8Array.of(sequence)));

function anchored(sequence: number, changes: Partial<AnchoredRecord> = {}): AnchoredRecord {
  return {
    kind: "event",
    content: `content-${sequence}`,
    clientEventId: null,
    anchorId: idOf(sequence),
    originFingerprint: ORIGIN,
    sequence,
    depth: sequence,
    receipt: null,
    startedMs: sequence * 10,
    endedMs: sequence * 10 + 5,
    tries: 1,
    ...changes,
  };
}

function leaf(sequence: number, changes: Partial<StoredLeaf> = {}): StoredLeaf {
  const content = sequence === 0 ? null : `event content-${sequence}`;
  const place = { anchorId: idOf(sequence), originFingerprint: ORIGIN, sequence, depth: sequence };
  return { ...place, acceptedMs: NOW_MS + sequence, content, ...changes };
}

const LEAVES = [0, 1, 2, 3].map((sequence) => leaf(sequence));

function rootOf(size: number): string {
  let tree = emptyFrontier();
  for (const { anchorId } of LEAVES.slice(0, size)) {
    tree = appendToFrontier(tree, Buffer.from(anchorId, "hex"), nodeCrypto.sha256);
  }
  return bytesToHex(frontierRoot(tree, nodeCrypto.sha256));
}

function head(treeSize: number, startedMs: number, changes: Partial<SeenHead> = {}): SeenHead {
  const times = { startedMs, endedMs: startedMs + 4 };
  return {
    nodeId: "n1",
    originFingerprint: ORIGIN,
    treeSize,
    rootHash: rootOf(treeSize),
    checkpoint: "",
    ...times,
    ...changes,
  };
}

/** Three events, acknowledged one after another, each read once it was. */
function goodRecorder(): Recorder {
  const recorder = new Recorder();
  for (const sequence of [1, 2, 3]) {
    recorder.attempted.add(`event content-${sequence}`);
    recorder.anchored.push(anchored(sequence));
    recorder.heads.push(head(sequence + 1, sequence * 10 + 6));
  }
  return recorder;
}

function cosign(recorder: Recorder, from: string, treeSize: number, rootHash: string, effect = 7): void {
  const item = {
    originFingerprint: toOriginFingerprint(Buffer.from(ORIGIN, "hex")),
    treeSize,
    rootHash: Buffer.from(rootHash, "hex"),
    timeS: 1,
    signature: new Uint8Array(64),
    raftIndex: treeSize,
    effect: Uint8Array.of(effect),
  };
  recorder.frame(from, "n2", { type: "cosignatures", items: [item], asks: false });
}

describe("what was said", () => {
  test("is without fault while every promise is kept", () => {
    const recorder = goodRecorder();
    for (const node of ["n1", "n2", "n3", "n1"]) for (const size of [2, 3]) cosign(recorder, node, size, rootOf(size));
    expect(recorder.cosignatures).toHaveLength(6);
    expect(brokenPromises(recorder)).toEqual([]);
    expect(brokenByLog(LEAVES, recorder, NOW_MS)).toEqual([]);
  });

  const OTHER_ROOT = "0b".repeat(32);
  const cases: readonly (readonly [string, (recorder: Recorder) => void, RegExp])[] = [
    [
      "a node signs two roots for one size",
      (recorder) => {
        cosign(recorder, "n1", 2, rootOf(2));
        cosign(recorder, "n1", 2, OTHER_ROOT);
      },
      /signed .* then/,
    ],
    [
      "two nodes sign different roots for one size",
      (recorder) => {
        cosign(recorder, "n1", 2, rootOf(2));
        cosign(recorder, "n3", 2, OTHER_ROOT);
      },
      /size 2: .*cosigner n1.*cosigner n3/,
    ],
    [
      "a node shows another root than was signed",
      (recorder) => {
        cosign(recorder, "n1", 3, OTHER_ROOT);
      },
      /cosigner n1.*latest of n1/,
    ],
    [
      "two nodes come to different effects",
      (recorder) => {
        cosign(recorder, "n1", 2, rootOf(2), 7);
        cosign(recorder, "n3", 2, rootOf(2), 8);
      },
      /entry 2: effect/,
    ],
    [
      "the latest anchor goes back",
      (recorder) => {
        recorder.heads.push(head(3, 100));
      },
      /size 3, 4 was read/,
    ],
    [
      "the latest anchor goes back on another node",
      (recorder) => {
        recorder.heads.push(head(2, 100, { nodeId: "n3" }));
      },
      /at n3: size 2, 4 was/,
    ],
    [
      "the latest anchor does not show what was acknowledged",
      (recorder) => {
        recorder.heads.splice(1);
        recorder.heads.push(head(3, 36));
      },
      /size 3, 4 was acknowledged/,
    ],
    [
      "one event is acknowledged in two places",
      (recorder) => {
        recorder.anchored.push(anchored(4, { content: "content-2" }));
      },
      /content event content-2/,
    ],
    [
      "one place is acknowledged for two events",
      (recorder) => {
        recorder.anchored.push(anchored(4, { depth: 2 }));
      },
      /place .* 2/,
    ],
    [
      "one sequence is acknowledged for two events",
      (recorder) => {
        recorder.anchored.push(anchored(4, { sequence: 2 }));
      },
      /sequence 2/,
    ],
  ];

  test.each(cases)("is contradicted when %s", (_title, change, line) => {
    const recorder = goodRecorder();
    change(recorder);
    expect(brokenPromises(recorder)).toEqual(expect.arrayContaining([expect.stringMatching(line)]));
  });

  test("is not contradicted by a read that overlaps what it does not show", () => {
    const recorder = goodRecorder();
    recorder.heads.push(head(3, 34, { endedMs: 90 }));
    expect(brokenPromises(recorder)).toEqual([]);
  });
});

describe("a log", () => {
  const cases: readonly (readonly [string, readonly StoredLeaf[], RegExp])[] = [
    ["lacks what was acknowledged", LEAVES.slice(0, 3), /^lost: event content-3/],
    ["holds another anchor there", LEAVES.with(2, leaf(2, { anchorId: idOf(9) })), /^lost: event content-2/],
    [
      "holds it at another depth",
      [...LEAVES.slice(0, 3), leaf(3, { originFingerprint: "0c".repeat(32), depth: 0 })],
      /^lost/,
    ],
    ["holds it twice", [...LEAVES, leaf(4, { content: "event content-1" })], /^doubled: event content-1 .* 1 and 4/],
    ["goes back in time", LEAVES.with(2, leaf(2, { acceptedMs: NOW_MS })), /^time goes back at sequence 2/],
    ["is ahead of time", LEAVES.with(3, leaf(3, { acceptedMs: NOW_MS + 6001 })), /^sequence 3 is 6001 ms ahead/],
    ["holds what nobody sent", [...LEAVES, leaf(4)], /^nobody has sent what is at sequence 4/],
    ["does not come to the roots that were shown", LEAVES.with(0, leaf(0, { anchorId: idOf(9) })), /n1 said/],
  ];

  test.each(cases)("is refused when it %s", (_title, leaves, line) => {
    expect(brokenByLog(leaves, goodRecorder(), NOW_MS)).toEqual(expect.arrayContaining([expect.stringMatching(line)]));
  });

  test("is refused when a size was signed that it does not reach", () => {
    const recorder = goodRecorder();
    cosign(recorder, "n2", 9, rootOf(3));
    expect(brokenByLog(LEAVES, recorder, NOW_MS)).toEqual([
      expect.stringMatching(/ 9: n2 said .* the leaves undefined/),
    ]);
  });
});
