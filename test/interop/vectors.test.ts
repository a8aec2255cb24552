import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import {
  ZERO_32,
  bytesToBase64,
  formatProof,
  formatVkey,
  hexToBytes,
  parseCheckpoint,
  parseNote,
  parseSignedTrustRoot,
  receiptFromJson,
  renderPolicy,
  tlogPolicyOf,
} from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { changed } from "../vector-builders/json.ts";
import type { Json } from "../vector-builders/json.ts";
import { whatGoLacks } from "./go-program.ts";
import { GoVerifier, VERIFIER } from "./go-verifier.ts";
import type { Verdict } from "./go-verifier.ts";

// The shared vectors, judged by libraries that this project has not written. Where these take what docs/PROTOCOL.md
// refuses, the case is named below with the reason: they look at less, and whoever relies on them should know.

function load(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../vectors/${name}`, import.meta.url), "utf8"));
}

interface ReceiptCase {
  readonly name: string;
  readonly trust_root_versions: number;
  readonly receipt: { readonly checkpoint: string };
  readonly superseded_trust_root: number | null;
  readonly renewal?: { readonly checkpoint: string; readonly consistency: readonly string[] };
}
interface WitnessedCase extends ReceiptCase {
  readonly require_witnessed: boolean;
  readonly witnesses_needed: number;
}
const receipts = load("receipt.json") as {
  readonly trust_roots: readonly string[];
  readonly proof: {
    readonly good: readonly { readonly name: string; readonly proof: string }[];
    readonly bad: readonly { readonly name: string; readonly proof: string }[];
  };
  readonly good: readonly ReceiptCase[];
  readonly bad: readonly ReceiptCase[];
  readonly witnessed: { readonly good: readonly WitnessedCase[]; readonly bad: readonly WitnessedCase[] };
};
interface NoteCase {
  readonly name: string;
  readonly note: string;
}
const cosignatures = load("cosignature.json") as {
  readonly good: readonly NoteCase[];
  readonly bad: readonly NoteCase[];
};
const notes = load("note.json") as {
  readonly good: readonly (NoteCase & { readonly vkeys: readonly string[] })[];
  readonly bad: readonly NoteCase[];
};
interface InclusionCase {
  readonly name: string;
  readonly index: number;
  readonly size: number;
  readonly leaf_hash: string;
  readonly root_hash: string;
  readonly path: readonly string[];
}
interface ConsistencyCase {
  readonly name: string;
  readonly old_size: number;
  readonly size: number;
  readonly old_root: string;
  readonly root: string;
  readonly path: readonly string[];
}
const trees = load("merkle.json") as {
  readonly inclusion: { readonly good: readonly InclusionCase[]; readonly bad: readonly InclusionCase[] };
  readonly consistency: { readonly good: readonly ConsistencyCase[]; readonly bad: readonly ConsistencyCase[] };
};
interface BundleCase {
  readonly name: string;
  readonly pinned_root_thk: string;
  readonly fails?: string;
  readonly superseded_trust_root?: number | null;
  readonly bundle?: Json;
  readonly of?: "whole" | "singles";
  readonly changes?: readonly { readonly at: string; readonly to: Json }[];
}
const bundles = load("bundle.json") as {
  readonly bundles: { readonly whole: Json; readonly singles: Json };
  readonly good: readonly BundleCase[];
  readonly bad: readonly BundleCase[];
};

const { sha256 } = nodeCrypto;
const lacking = whatGoLacks(VERIFIER);
const describeWithGo = lacking === null ? describe : describe.skip;
if (lacking !== null) process.stderr.write(`test/interop/vectors.test.ts is skipped: ${lacking}\n`);
let go: GoVerifier;

beforeAll(() => {
  if (lacking === null) go = new GoVerifier();
}, 300_000);

afterAll(() => {
  if (lacking === null) go.end();
});

function policyOf(document: string): string {
  return renderPolicy(parseSignedTrustRoot(document, sha256), "tlog");
}

const policyOfVersion = (version: number): string => policyOf(receipts.trust_roots[version - 1] ?? "");
const base64Of = (hex: string): string => bytesToBase64(hexToBytes(hex, hex.length / 2));

/** Splits cases by whether the libraries take what this project refuses. */
function byStrictness<Case extends { readonly name: string }>(
  cases: readonly Case[],
  lenient: Readonly<Record<string, string>>,
): { readonly refused: readonly Case[]; readonly taken: readonly (Case & { readonly because: string })[] } {
  const unknown = Object.keys(lenient).filter((name) => !cases.some((each) => each.name === name));
  if (unknown.length > 0) throw new Error(`no vectors: ${unknown.join(", ")}`);
  return {
    refused: cases.filter(({ name }) => lenient[name] === undefined),
    taken: cases.flatMap((each) => {
      const because = lenient[each.name];
      return because === undefined ? [] : [{ ...each, because }];
    }),
  };
}

describeWithGo("a receipt", () => {
  const THE_CALLERS = "what the caller expects is compared by the caller";
  const { refused, taken } = byStrictness(receipts.bad, {
    "another event": THE_CALLERS,
    "event hash against a claim": THE_CALLERS,
    "payload against an unsigned event": THE_CALLERS,
    "another payload": THE_CALLERS,
    "another anchor id": THE_CALLERS,
    "tree size of the receipt differs": "only JSON says it a second time",
    "65 lines": "they take up to 100",
    "log line twice": "they count a line once and pass over its copies",
    "good log line beside a failing one": "they look at the first line of a key alone",
  });

  const judge = ({ receipt }: ReceiptCase, version: number): Promise<Verdict> => {
    const proof = formatProof(receiptFromJson(receipt).receipt);
    return go.judge({ ask: "receipt", proof, policy: policyOfVersion(version) });
  };

  const direct = receipts.good.filter(({ renewal }) => renewal === undefined);
  test.each(direct)("is accepted by the policy that it satisfies: $name", async (each) => {
    const version = each.superseded_trust_root ?? each.trust_root_versions;
    expect(await judge(each, version)).toMatchObject({ accepted: true });
  });

  const superseded = receipts.good.filter((each) => each.superseded_trust_root !== null);
  test.each(superseded)("is refused by the newest policy, which knows no older one: $name", async (each) => {
    expect(await judge(each, each.trust_root_versions)).toMatchObject({ accepted: false, step: "quorum" });
  });

  test.each(refused)("is refused: $name", async (each) => {
    expect(await judge(each, each.trust_root_versions)).toMatchObject({ accepted: false });
  });

  test.each(taken)("is taken, though this project refuses it: $name ($because)", async (each) => {
    expect(await judge(each, each.trust_root_versions)).toMatchObject({ accepted: true });
  });

  const renewed = receipts.good.filter(({ renewal }) => renewal !== undefined);
  test.each(renewed)("is renewed by a later checkpoint: $name", async ({ receipt, trust_root_versions, renewal }) => {
    const note = renewal?.checkpoint ?? "";
    const policy = policyOfVersion(trust_root_versions);
    expect(await go.judge({ ask: "checkpoint", note, policy })).toMatchObject({ accepted: true });
    const [old, later] = [receipt.checkpoint, note].map((each) => parseCheckpoint(parseNote(each).text));
    const proof = {
      old_size: old?.treeSize,
      old_root: bytesToBase64(old?.rootHash ?? ZERO_32),
      size: later?.treeSize,
      root: bytesToBase64(later?.rootHash ?? ZERO_32),
    };
    const path = renewal?.consistency ?? [];
    expect(await go.judge({ ask: "consistency", ...proof, path })).toMatchObject({ accepted: true });
    const cut = path.slice(1);
    expect(await go.judge({ ask: "consistency", ...proof, path: cut })).toMatchObject({ accepted: false });
  });
});

describeWithGo("a receipt with lines of witnesses", () => {
  /** A trust root without witnesses has no policy that asks for them. */
  const isAsked = (each: WitnessedCase): boolean => each.require_witnessed && each.witnesses_needed > 0;
  const good = receipts.witnessed.good.filter((each) => isAsked(each) && each.superseded_trust_root === null);
  const { refused, taken } = byStrictness(receipts.witnessed.bad.filter(isAsked), {
    "a line twice": "they count a line once and pass over its copies",
  });

  const judge = ({ receipt, trust_root_versions: version }: WitnessedCase, demand: "certified" | "witnessed") => {
    const document = receipts.trust_roots[version - 1] ?? "";
    const policy = renderPolicy(parseSignedTrustRoot(document, sha256), "tlog", demand);
    return go.judge({ ask: "receipt", proof: formatProof(receiptFromJson(receipt).receipt), policy });
  };

  test.each(good)("is accepted by the policy that asks for them: $name", async (each) => {
    expect(await judge(each, "witnessed")).toMatchObject({ accepted: true });
  });

  test.each(refused)("is refused by the policy that asks for them: $name", async (each) => {
    expect(await judge(each, "witnessed")).toMatchObject({ accepted: false });
  });

  test.each(taken)("is taken, though this project refuses it: $name ($because)", async (each) => {
    expect(await judge(each, "witnessed")).toMatchObject({ accepted: true });
  });

  const certified = receipts.witnessed.good.filter(({ require_witnessed: isDemanded }) => !isDemanded);
  test.each(certified)("is accepted by the policy that asks for nodes alone: $name", async (each) => {
    expect(await judge(each, "certified")).toMatchObject({ accepted: true });
  });
});

describeWithGo("a tlog-proof text", () => {
  const judge = (proof: string): Promise<Verdict> => go.judge({ ask: "receipt", proof, policy: policyOfVersion(1) });

  test.each(receipts.proof.good)("is accepted: $name", async ({ proof }) => {
    expect(await judge(proof)).toMatchObject({ accepted: true });
  });

  test.each(receipts.proof.bad)("is refused: $name", async ({ proof }) => {
    expect(await judge(proof)).toMatchObject({ accepted: false });
  });
});

describeWithGo("cosignatures", () => {
  const { witnesses } = tlogPolicyOf(parseSignedTrustRoot(receipts.trust_roots[0] ?? "", sha256).trustRoot);
  const vkeys = witnesses.map(({ vkey }) => formatVkey(vkey));
  const { refused, taken } = byStrictness(cosignatures.bad, {
    "a, b and a again": "they count a line once and pass over its copies",
  });
  // The parser of policies counts good lines and passes over failing ones; opening the note refuses these.
  const FAILING = [
    "time changed",
    "signature changed",
    "signature cut",
    "time above 2^53 - 1",
    "of another checkpoint",
  ];
  const failing = refused.filter(({ name }) => FAILING.includes(name));
  const tooFew = refused.filter(({ name }) => !FAILING.includes(name));

  const open = ({ note }: NoteCase): Promise<Verdict> => go.judge({ ask: "note", note, vkeys });
  const count = ({ note }: NoteCase): Promise<Verdict> => go.judge({ ask: "quorum", note, policy: policyOfVersion(1) });

  test.each(cosignatures.good)("are good, and satisfy the policy: $name", async (each) => {
    expect(await open(each)).toMatchObject({ accepted: true });
    expect(await count(each)).toMatchObject({ accepted: true });
  });

  test.each(failing)("are not good: $name", async (each) => {
    expect(await open(each)).toMatchObject({ accepted: false, step: "note" });
  });

  test.each(tooFew)("do not satisfy the policy: $name", async (each) => {
    expect(await count(each)).toMatchObject({ accepted: false, step: "quorum" });
  });

  test.each(taken)("are taken, though this project refuses them: $name ($because)", async (each) => {
    expect(await open(each)).toMatchObject({ accepted: true });
    expect(await count(each)).toMatchObject({ accepted: true });
  });
});

describeWithGo("a note", () => {
  const signed = notes.good.filter(({ vkeys }) => vkeys.length > 0);

  test.each(signed)("is opened by its keys: $name", async ({ note, vkeys }) => {
    expect(await go.judge({ ask: "note", note, vkeys })).toMatchObject({ accepted: true });
  });

  test.each(signed)("is not opened by nobody's: $name", async ({ note }) => {
    expect(await go.judge({ ask: "note", note, vkeys: [] })).toMatchObject({ accepted: false, step: "note" });
  });

  test.each(notes.bad)("is refused: $name", async ({ note }) => {
    expect(await go.judge({ ask: "note", note, vkeys: [] })).toMatchObject({ accepted: false, step: "note" });
  });
});

describeWithGo("a proof", () => {
  const inclusion = (each: InclusionCase): Promise<Verdict> => {
    const { index, size, path } = each;
    const ends = { leaf_hash: base64Of(each.leaf_hash), root: base64Of(each.root_hash) };
    return go.judge({ ask: "inclusion", index, size, ...ends, path: path.map(base64Of) });
  };
  const consistency = (each: ConsistencyCase): Promise<Verdict> => {
    const { old_size, size, path } = each;
    const ends = { old_root: base64Of(each.old_root), root: base64Of(each.root) };
    return go.judge({ ask: "consistency", old_size, size, ...ends, path: path.map(base64Of) });
  };
  // x/mod has no empty trees, transparency-dev has: this project's rule for them is one of its own.
  const ofSomething = ({ old_size }: ConsistencyCase): boolean => old_size > 0;

  test.each(trees.inclusion.good)("of inclusion is accepted: $name", async (each) => {
    expect(await inclusion(each)).toMatchObject({ accepted: true });
  });

  test.each(trees.inclusion.bad)("of inclusion is refused by both libraries: $name", async (each) => {
    expect(await inclusion(each)).toMatchObject({ accepted: false, step: "inclusion" });
  });

  test.each(trees.consistency.good.filter(ofSomething))("of consistency is accepted: $name", async (each) => {
    expect(await consistency(each)).toMatchObject({ accepted: true });
  });

  test.each(trees.consistency.bad.filter(ofSomething))("of consistency is refused by both: $name", async (each) => {
    expect(await consistency(each)).toMatchObject({ accepted: false, step: "consistency" });
  });
});

describeWithGo("a bundle", () => {
  // These libraries know trees and who signed them. What leaves mean is not theirs to judge.
  const THEIRS = ["trust_roots", "checkpoints", "leaves", "ranges"];
  const theirs = bundles.bad.filter(({ fails }) => THEIRS.includes(fails ?? ""));
  const A_CHAINS = "what a chain of trust roots must keep to is this project's own";
  const { refused, taken } = byStrictness(theirs, {
    "whole: one document twice": A_CHAINS,
    "an older version than the highest seen": A_CHAINS,
    "another version 1 than the one seen": A_CHAINS,
    "whole: one cosigner twice": "they count a line once and pass over its copies",
    "whole: one origin twice": "two checkpoints of one origin are two good ones",
    "a bad line of a witness, not demanded": "their policy has no witness whose line could be bad",
  });

  const baseOf = ({ bundle, of }: BundleCase): Json => bundle ?? bundles.bundles[of ?? "whole"];
  /** By the policy of a version that the bundle, before it was altered, holds; absent: the newest. */
  const judge = (each: BundleCase, version?: number): Promise<Verdict> => {
    const base = baseOf(each);
    const { trust_roots: documents } = base as { readonly trust_roots: readonly string[] };
    const policy = policyOf(documents.at(version === undefined ? -1 : version - 1) ?? "");
    const bundle = (each.changes ?? []).reduce((value, { at, to }) => changed(value, [at, to]), base);
    return go.judge({ ask: "bundle", bundle, root_thk: each.pinned_root_thk, policy });
  };

  test.each(bundles.good)("is accepted: $name", async (each) => {
    const found = await judge(each, each.superseded_trust_root ?? undefined);
    expect(found).toMatchObject({ accepted: true });
    expect(found.leaves).toBeGreaterThan(0);
  });

  test.each(refused)("is refused: $name", async (each) => {
    expect(await judge(each)).toMatchObject({ accepted: false });
  });

  test.each(taken)("is taken, though this project refuses it: $name ($because)", async (each) => {
    expect(await judge(each)).toMatchObject({ accepted: true });
  });
});
