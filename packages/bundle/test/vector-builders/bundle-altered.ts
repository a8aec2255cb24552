/** Bundles with something in them that somebody altered. */
import { bytesToBase64 } from "@event-anchoring/protocol";
import type { BadCase } from "./bundle-cases.ts";
import { Cluster } from "./bundle-cluster.ts";
import { NAMED, itemAt as at } from "./bundle-named.ts";
import { BundleWorld, idOf } from "./bundle-world.ts";
import type { Change, Json } from "../../../../test/vector-builders/json.ts";
import { fill, hashOf } from "../../../../test/vector-builders/keys.ts";

const { bundle: WHOLE } = NAMED.whole;
const { bundle: SINGLES } = NAMED.singles;

function flip(bytes: Uint8Array, offset: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[offset] = (copy[offset] ?? 0) ^ 1;
  return copy;
}

/** One character of a text becomes another. */
function edited(text: string, from: RegExp, to: string): string {
  const changed = text.replace(from, to);
  if (changed === text) throw new Error(`nothing matches ${String(from)}`);
  return changed;
}

function altered(of: "whole" | "singles", name: string, fails: BadCase["fails"], ...changes: Change[]): BadCase {
  return { name: `${of}: ${name}`, fails, source: { of, changes } };
}

function base64s(list: readonly Uint8Array[]): Json {
  return list.map((bytes) => bytesToBase64(bytes));
}

const other = new BundleWorld(new Cluster("anchor.example/other", 0xc2));

function badTrustRoots(): BadCase[] {
  const [document] = WHOLE.trustRoots;
  const [foreign = ""] = other.documents;
  const pinned = (name: string, pin: Uint8Array): BadCase => ({
    name,
    fails: "trust_roots",
    source: { of: "whole", changes: [] },
    reader: { pin },
  });
  const seen = (name: string, version: number, rootThk: Uint8Array): BadCase => ({
    name,
    fails: "trust_roots",
    source: { of: "whole", changes: [] },
    reader: { highestSeen: { version, rootThk } },
  });
  const { cluster, pin: first } = NAMED.whole.world;
  const members = [0, 1, 2].map((each) => ({ node: cluster.node(each) }));
  const weak = cluster.signed(cluster.trustRoot(2, first, members), 1);
  const lines = (document ?? "").split("\n");
  const unsigned = lines.slice(0, -2).join("\n");
  return [
    altered("whole", "no trust root", "trust_roots", ["/trust_roots", []]),
    altered("whole", "the trust root of another cluster", "trust_roots", ["/trust_roots/0", foreign]),
    altered("whole", "a text that is no note", "trust_roots", ["/trust_roots/0", "trust me"]),
    altered("whole", "signed by one root key of two", "trust_roots", ["/trust_roots/0", `${unsigned}\n`]),
    altered("whole", "a smaller quorum", "trust_roots", [
      "/trust_roots/0",
      edited(document ?? "", /quorum 2\n/, "quorum 3\n"),
    ]),
    altered("whole", "one document twice", "trust_roots", ["/trust_roots", [document ?? "", document ?? ""]]),
    altered("whole", "followed by a document of another cluster", "trust_roots", [
      "/trust_roots",
      [document ?? "", foreign],
    ]),
    altered("whole", "followed by a version that one root key has signed", "trust_roots", [
      "/trust_roots",
      [document ?? "", weak],
    ]),
    pinned("the pin of another cluster", other.pin),
    pinned("a pin of nothing", fill(0)),
    seen("an older version than the highest seen", 2, hashOf("version 2")),
    seen("another version 1 than the one seen", 1, hashOf("version 1")),
  ];
}

function badCheckpoints(): BadCase[] {
  const [first = "", second = "", third = ""] = WHOLE.checkpoints;
  const { world } = NAMED.whole;
  const origin = [0, 1, 2].findIndex((each) => world.checkpoint(each) === first);
  const signedBy = (cosigners: readonly number[], isLogged = true): string =>
    world.checkpoint(origin, world.tree(origin).length, cosigners, isLogged);
  const lines = first.split("\n");
  const cosigned = at(lines, 5);
  const replaced = (note: string): Change => ["/checkpoints/0", note];
  return [
    altered("whole", "a checkpoint that is no note", "checkpoints", replaced("tree of 4 leaves\n")),
    altered(
      "whole",
      "a cosignature altered",
      "checkpoints",
      replaced(edited(first, /(.{20})=\n$/, "AAAAAAAAAAAAAAAAAAAA=\n")),
    ),
    altered("whole", "the size of a tree altered", "checkpoints", replaced(edited(first, /\n[0-9]+\n/, "\n9\n"))),
    altered("whole", "one cosigner", "checkpoints", replaced(signedBy([1]))),
    altered("whole", "no cosigner", "checkpoints", replaced(signedBy([]))),
    altered("whole", "a cosigner who is not of the cluster yet", "checkpoints", replaced(signedBy([0, 3]))),
    altered("whole", "one cosigner twice", "checkpoints", replaced(`${first}${cosigned}\n`)),
    altered("whole", "without the log's own line", "checkpoints", replaced(signedBy([0, 1], false))),
    altered("whole", "an origin of another cluster", "checkpoints", replaced(other.checkpoint(0))),
    altered(
      "whole",
      "an origin that is not listed",
      "checkpoints",
      replaced(edited(first, /origin\/[0-9a-f]{4}/, "origin/0000")),
    ),
    altered("whole", "one origin twice", "checkpoints", ["/checkpoints", [first, second, third, first]]),
    altered("whole", "an extension line", "checkpoints", replaced(edited(first, /\n\n/, "\nmore\n\n"))),
  ];
}

function badLeaves(): BadCase[] {
  const [first, second] = SINGLES.leaves;
  if (first === undefined || second === undefined) throw new Error("few leaves");
  const leafAt0 = (bytes: Uint8Array): Change => ["/leaves/0/leaf", bytesToBase64(bytes)];
  const elsewhere = SINGLES.checkpoints.findIndex((_, place) => place !== first.checkpoint);
  return [
    altered("singles", "a leaf altered", "leaves", leafAt0(flip(first.leaf, 200))),
    altered("singles", "the sequence of a leaf altered", "leaves", leafAt0(flip(first.leaf, 106))),
    altered("singles", "the depth of a leaf altered", "leaves", leafAt0(flip(first.leaf, 66))),
    altered("singles", "the depth of a leaf beyond the tree", "leaves", leafAt0(flip(first.leaf, 64))),
    altered("singles", "a leaf cut", "leaves", leafAt0(first.leaf.slice(0, -1))),
    altered("singles", "a leaf of another format", "leaves", leafAt0(flip(first.leaf, 20))),
    altered("singles", "no bytes", "leaves", leafAt0(new Uint8Array(0))),
    altered("singles", "a hash of the proof altered", "leaves", [
      "/leaves/0/inclusion/0",
      bytesToBase64(flip(at(first.inclusion, 0), 31)),
    ]),
    altered("singles", "a proof without its last hash", "leaves", [
      "/leaves/0/inclusion",
      base64s(first.inclusion.slice(0, -1)),
    ]),
    altered("singles", "a proof with one hash more", "leaves", [
      "/leaves/0/inclusion",
      base64s([...first.inclusion, fill(0)]),
    ]),
    altered("singles", "the proof of another leaf", "leaves", ["/leaves/0/inclusion", base64s(second.inclusion)]),
    altered("singles", "the checkpoint of another origin", "leaves", ["/leaves/0/checkpoint", elsewhere]),
    altered("singles", "checkpoints swapped", "leaves", [
      "/checkpoints",
      [at(SINGLES.checkpoints, 1), at(SINGLES.checkpoints, 0), at(SINGLES.checkpoints, 2)],
    ]),
  ];
}

function badRanges(): BadCase[] {
  const [range] = WHOLE.ranges;
  if (range === undefined) throw new Error("no range");
  const { leaves, frontier } = range;
  const leavesAre = (list: readonly Uint8Array[]): Change => ["/ranges/0/leaves", base64s(list)];
  const [first = fill(0), second = fill(0), ...rest] = leaves;
  return [
    altered("whole", "a leaf of a range altered", "ranges", leavesAre([flip(first, 200), second, ...rest])),
    altered("whole", "the last leaf left out", "ranges", leavesAre(leaves.slice(0, -1))),
    altered("whole", "the first leaf left out", "ranges", leavesAre(leaves.slice(1))),
    altered("whole", "the first leaf left out, from one depth on", "ranges", leavesAre(leaves.slice(1)), [
      "/ranges/0/from",
      2,
    ]),
    altered("whole", "a gap, filled with the leaf before it", "ranges", leavesAre([first, first, ...rest])),
    altered("whole", "two leaves in another order", "ranges", leavesAre([second, first, ...rest])),
    altered("whole", "no leaves", "ranges", leavesAre([])),
    altered("whole", "no leaves, from beyond the end", "ranges", leavesAre([]), ["/ranges/0/from", 1 + leaves.length]),
    altered("whole", "from depth 0 with the leaves from 1 on", "ranges", ["/ranges/0/from", 0]),
    altered("whole", "no frontier", "ranges", ["/ranges/0/frontier", []]),
    altered("whole", "a frontier with one hash more", "ranges", [
      "/ranges/0/frontier",
      base64s([...frontier, fill(0)]),
    ]),
    altered("whole", "a frontier altered", "ranges", ["/ranges/0/frontier/0", bytesToBase64(fill(7))]),
    altered("whole", "two ranges of one checkpoint", "ranges", ["/ranges/1/checkpoint", 0]),
    altered(
      "whole",
      "the checkpoint of another origin",
      "ranges",
      ["/ranges/0/checkpoint", 1],
      ["/ranges/1/checkpoint", 0],
    ),
    altered("whole", "bytes that are no leaf", "ranges", leavesAre([fill(1, 371), second, ...rest])),
  ];
}

function badSubjects(): BadCase[] {
  const { world } = NAMED.whole;
  const expected = (name: string, reader: NonNullable<BadCase["reader"]>, changes: Change[] = []): BadCase => ({
    name,
    fails: "subject",
    source: { of: "whole", changes },
    reader,
  });
  const claim = at(world.written, 3);
  const claimed: Change[] = [
    ["/subject", idOf(claim)],
    ["/stated", null],
  ];
  return [
    altered("whole", "a subject that is not there", "subject", ["/subject", "00".repeat(32)]),
    altered("whole", "as of before the subject", "subject", ["/as_of", { sequence: 8, time_ms: world.clockMs }]),
    expected("another anchor than asked about", { anchorId: claim.anchorId }),
    expected("another event than asked about", { eventHash: hashOf("another") }),
    expected("an event hash, and the subject is a claim", { eventHash: hashOf("act") }, claimed),
  ];
}
function badPositions(): BadCase[] {
  const { world } = NAMED.whole;
  const asOf = (sequence: number, timeMs: number): Change => ["/as_of", { sequence, time_ms: timeMs }];
  return [
    altered("whole", "as of a time before its leaf", "window", asOf(10, world.clockMs - 1)),
    altered("whole", "as of the act, at a time when more had happened", "window", asOf(9, world.clockMs)),
    altered("whole", "as of the act, today", "window", asOf(9, world.clockMs + 1_000_000_000)),
    altered("singles", "as of a time before a leaf that is there", "window", asOf(10, world.clockMs - 11)),
  ];
}
function badStatements(): BadCase[] {
  const change = (name: string, ...changes: Change[]): BadCase =>
    altered("whole", `stated ${name}`, "stated", ...changes);
  const single = (name: string, ...changes: Change[]): BadCase =>
    altered("singles", `stated ${name}`, "stated", ...changes);
  const { world } = NAMED.whole;
  return [
    change("of another anchor", ["/stated/anchor/anchor_id", idOf(at(world.written, 3))]),
    change("as of another sequence", ["/stated/as_of/sequence", 9]),
    change("as of another time", ["/stated/as_of/time_ms", world.clockMs + 1]),
    change("with an actor that is not proven", ["/stated/actor_proven", false]),
    change("not authorised at action", ["/stated/authorised_at_action", false]),
    change("unknown at action", ["/stated/authorised_at_action", "unknown"]),
    change("true as a text", ["/stated/authorised_now", "true"]),
    change("suspect", ["/stated/suspect", true]),
    change("without a delegation", ["/stated/delegation", []]),
    change("with grants in another order", ["/stated/delegation", reversedDelegation()]),
    change("with a revocation that is not there", [
      "/stated/revocations",
      [{ anchor: { anchor_id: idOf(at(world.written, 8)) } }],
    ]),
    change("nothing", ["/stated", {}]),
    change("with an anchor that is a text", ["/stated/anchor", idOf(at(world.written, 9))]),
    single("not authorised now", ["/stated/authorised_now", false]),
  ];
}

function reversedDelegation(): Json {
  const { written } = NAMED.whole.world;
  const [upper, lower] = [at(written, 6), at(written, 7)];
  return [upper, lower].map((grant) => ({ grant: { anchor_id: idOf(grant) } }));
}

export function alteredBundles(): BadCase[] {
  return [
    ...badTrustRoots(),
    ...badCheckpoints(),
    ...badLeaves(),
    ...badRanges(),
    ...badSubjects(),
    ...badPositions(),
    ...badStatements(),
  ];
}
