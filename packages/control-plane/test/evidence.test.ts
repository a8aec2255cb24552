/** A file of evidence keeps the good lines that a node no longer knows, and takes no others. */
import { describe, expect, test } from "@jest/globals";
import type { HeadLine } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { parseSignedTrustRoot, verifyContradiction } from "@event-anchoring/protocol";
import { contradictionText, withKeptLines } from "../src/certification/evidence.ts";
import { signHead } from "../src/signatures/certificates.ts";
import { ORIGIN, ceremony } from "./certifier-replica.ts";
import { identityOf } from "./ceremony.ts";

const ROOT = parseSignedTrustRoot(ceremony.document, nodeCrypto.sha256).trustRoot;
const [LEFT, RIGHT, THIRD] = [1, 2, 3].map((byte) => new Uint8Array(32).fill(byte)) as [
  Uint8Array,
  Uint8Array,
  Uint8Array,
];

function line(nodeId: string, rootHash: Uint8Array, timeS = ROOT.issuedS): HeadLine {
  const head = { treeSize: 5, rootHash };
  const signature = signHead(ROOT, ORIGIN, head, timeS, identityOf(ceremony, nodeId).cosigner);
  return { nodeId, originFingerprint: ORIGIN, ...head, timeS, signature };
}

function textOf(left: readonly HeadLine[], right: readonly HeadLine[]): string {
  return contradictionText(ROOT, left, right, nodeCrypto.sha256);
}

function merged(text: string, kept: string): string {
  return withKeptLines(text, kept, verifyContradiction(kept, [ROOT], nodeCrypto));
}

describe("evidence that is written again", () => {
  const [a, b, c] = ["a", "b", "c"].map((nodeId) => [line(nodeId, LEFT), line(nodeId, RIGHT)] as const) as [
    readonly [HeadLine, HeadLine],
    readonly [HeadLine, HeadLine],
    readonly [HeadLine, HeadLine],
  ];

  test("has the lines of the kept file as well, each under its own root, in the order of their keys", () => {
    const kept = textOf([a[0], c[0]], [b[1]]);
    const text = textOf([b[0]], [a[1], b[1]]);
    expect(merged(text, kept)).toBe(textOf([a[0], b[0], c[0]], [a[1], b[1]]));
  });

  test("has the lines of the kept file also where its notes come in the other order", () => {
    expect(merged(textOf([a[1]], [a[0]]), textOf([b[0]], [c[1]]))).toBe(textOf([a[1], c[1]], [a[0], b[0]]));
  });

  test("has one line of a key: the newer one", () => {
    const newer = line("a", LEFT, ROOT.issuedS + 60);
    expect(merged(textOf([newer], [b[1]]), textOf([a[0]], [b[1]]))).toBe(textOf([newer], [b[1]]));
  });

  test("takes no line over a third root", () => {
    const text = textOf([a[0]], [b[1]]);
    expect(merged(text, textOf([line("c", THIRD)], [b[1]]))).toBe(text);
  });

  test("takes no line of a key that no trust root knows", () => {
    const withoutC = { ...ROOT, nodes: ROOT.nodes.filter(({ nodeId }) => nodeId !== "c") };
    const kept = textOf([a[0], c[0]], [a[1]]);
    const proven = verifyContradiction(kept, [withoutC], nodeCrypto);
    const text = textOf([b[0]], [b[1]]);
    expect(withKeptLines(text, kept, proven)).toBe(textOf([a[0], b[0]], [a[1], b[1]]));
  });
});
