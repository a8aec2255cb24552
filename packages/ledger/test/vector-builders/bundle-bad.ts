/** Bundles that are refused: by the parts that somebody altered, and by what no honest cluster lets in. */
import { bytesToBase64 } from "@event-anchoring/protocol";
import { actOf, singles, statedOf, whole } from "./bundle-cases.ts";
import type { Act, ActOptions, BadCase, Change, CutBundle } from "./bundle-cases.ts";
import { Cluster } from "./bundle-cluster.ts";
import { BundleWorld, idOf } from "./bundle-world.ts";
import type { Written } from "./bundle-world.ts";
import type { Json } from "./json.ts";
import { fill, hashOf } from "./keys.ts";

/** The bundles that others are made from, by name: whole, and single leaves. Both are stated. */
export function namedBundles(): Readonly<Record<"whole" | "singles", CutBundle>> {
  const act = actOf();
  const stated = statedOf(act.world, act.act);
  return { whole: whole(act.world, act.act, { stated }), singles: singles(act, { stated }) };
}

const NAMED = namedBundles();
const { bundle: WHOLE } = NAMED.whole;
const { bundle: SINGLES } = NAMED.singles;

function at<Item>(items: readonly Item[], index: number): Item {
  const item = items[index];
  if (item === undefined) throw new RangeError(`nothing at ${index}`);
  return item;
}

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

/** A certified ledger that no honest cluster would have made. */
function forged(name: string, fails: BadCase["fails"], options: ActOptions): BadCase {
  const { world, act } = actOf(options);
  return { name, fails, source: whole(world, act) };
}

const WRONG = fill(1, 64);

function badSignatures(): BadCase[] {
  const claimed = (name: string, spoil: object): BadCase =>
    forged(name, "signatures", { before: ({ world }) => void world.claim("agent", { spoil }) });
  const granted = (name: string, spoil: object): BadCase =>
    forged(name, "signatures", {
      before: ({ world, deployer, agent, upper }) =>
        void world.grant(deployer, agent, { parent: upper, depth: 1, spoil }),
    });
  const revoked = (name: string, by: string, authority: number, spoil: object = {}): BadCase =>
    forged(name, "signatures", { after: ({ world, lower }) => void world.revoke(lower, { by, authority, spoil }) });
  return [
    claimed("a claim that its subject has not signed", { subjectSignature: WRONG }),
    claimed("a claim that its issuer has not signed", { issuerSignature: WRONG }),
    claimed("a claim about another attribute than was signed", { attributeType: 2 }),
    claimed("a claim that ends later than was signed", { expiresAt: 2_000_000_000_000 }),
    granted("a grant that its grantor has not signed", { grantorSignature: WRONG }),
    granted("a grant that its witness has not signed", { witnessSignature: WRONG }),
    granted("a grant of more depth than was signed", { delegationDepth: 9 }),
    forged("an act that its actor has not signed", "signatures", {
      event: () => ({ spoil: { actorSignature: WRONG } }),
    }),
    forged("another act than was signed", "signatures", { event: () => ({ spoil: { eventHash: hashOf("other") } }) }),
    revoked("a revocation that its revoker has not signed", "witness", 4, { signature: WRONG }),
    revoked("a revocation for another reason than was signed", "witness", 4, { reason: 1 }),
    revoked("a revocation by a stranger", "mallory", 4),
    revoked("a revocation by the witness as grantor", "witness", 3),
    revoked("a revocation by the grantor as witness", "deployer", 4),
    forged("a claim's revocation by its issuer as subject", "signatures", {
      after: ({ world, agent }) => void world.revoke(agent.claim, { by: "issuer", authority: 2 }),
    }),
    forged("a revocation of an event", "signatures", { after: ({ world, act }) => void world.revoke(act) }),
  ];
}

/** Leaves of which one is missing among the singles. */
function without(name: string, missing: (parts: Act) => Written): BadCase {
  const parts = actOf();
  const { world, root, deployer, agent, upper, lower, act } = parts;
  const left = [root.claim, deployer.claim, agent.claim, upper, lower, act].filter((each) => each !== missing(parts));
  return { name, fails: "records", source: { world, bundle: world.cut({ subject: act, singles: left }) } };
}

function badRecords(): BadCase[] {
  return [
    without("the parent of a grant is missing", ({ upper }) => upper),
    without("the grant that is acted under is missing", ({ lower }) => lower),
    without("the claim of the root is missing", ({ root }) => root.claim),
    without("the claim of the deployer is missing", ({ deployer }) => deployer.claim),
    without("the claim of the actor is missing", ({ agent }) => agent.claim),
    missingScroll(),
    missingTarget(),
    chainThroughOrphan(),
    ...badOrder(),
    ...badTrustRootLeaves(),
  ];
}

function missingScroll(): BadCase {
  const world = new BundleWorld();
  const scroll = world.event("scroll", { at: 1 });
  const act = world.event("act", { scroll });
  return {
    name: "the scroll is missing",
    fails: "records",
    source: { world, bundle: world.cut({ subject: act, singles: [act] }) },
  };
}

function missingTarget(): BadCase {
  const { world, lower } = actOf();
  const subject = world.revoke(lower);
  const bundle = world.cut({ subject, singles: [subject] });
  return { name: "the target of the revocation is missing", fails: "records", source: { world, bundle } };
}

/** Whoever leaves a parent out makes no root grant of its child. */
function chainThroughOrphan(): BadCase {
  const { world, deployer, agent, lower, act } = actOf();
  const held = [deployer.claim, agent.claim, lower, act];
  return {
    name: "a chain that ends at a grant whose parent is missing",
    fails: "records",
    source: { world, bundle: world.cut({ subject: act, singles: held }) },
  };
}

function badOrder(): BadCase[] {
  const repeated = actOf({ after: ({ world }) => void world.nextSequence-- });
  const { world } = NAMED.whole;
  return [
    { name: "two leaves of one sequence", fails: "records", source: whole(repeated.world, repeated.act) },
    {
      name: "one leaf twice, by itself and in a range",
      fails: "records",
      source: { world, bundle: { ...WHOLE, leaves: singleOf(world, at(world.written, 9)) } },
    },
    forged("a time that goes back", "records", { before: ({ world: each }) => void (each.clockMs -= 25) }),
    forged("a sequence that goes back in one origin", "records", {
      before: ({ world: each }) =>
        void each.append(each.cluster.node(2), plain("early"), { sequence: 3_000, acceptedMs: each.clockMs + 60_000 }),
    }),
    forged("a leaf that does not name the one before it", "records", {
      before: ({ world: each }) =>
        void each.append(each.cluster.node(2), plain("alone"), { parentAnchorId: idLike("none") }),
    }),
  ];
}

function plain(label: string): Parameters<BundleWorld["append"]>[1] {
  const none = fill(0);
  const semanticAnchor = {
    irisRef: none,
    scrollRef: none,
    grantRef: none,
    bondRef: none,
    yieldRef: none,
    eventDataHash: none,
  };
  return (header) => ({ kind: 1, ...header, eventHash: hashOf(label), semanticAnchor, clientEventCommit: none });
}

function idLike(label: string): Written["anchorId"] {
  return hashOf(label) as Written["anchorId"];
}

function singleOf(world: BundleWorld, leaf: Written) {
  const { leaves, checkpoints } = world.cut({ subject: leaf, singles: [leaf] });
  const [single] = leaves;
  const checkpoint = WHOLE.checkpoints.indexOf(checkpoints[0] ?? "");
  return single === undefined ? [] : [{ ...single, checkpoint }];
}

function badTrustRootLeaves(): BadCase[] {
  const members = (world: BundleWorld) => [0, 1, 2].map((each) => ({ node: world.cluster.node(each) }));
  const hidden = actOf({ before: ({ world }) => world.rotate(members(world)) });
  const lies = actOf({ before: ({ world }) => world.rotate(members(world), { rootThk: hashOf("another version 2") }) });
  const stranger = actOf({
    before: ({ world }) => {
      const [a, b] = members(world);
      if (a === undefined || b === undefined) throw new Error("few nodes");
      const retired = { node: world.cluster.node(2), status: "retired", origin: "closed" } as const;
      world.rotate([a, b, retired, { node: world.cluster.node(3) }], { clusterId: fill(9) });
    },
    after: ({ world }) => void world.event("in the new origin", { at: 3 }),
  });
  return [
    {
      name: "the newest trust root left out",
      fails: "records",
      source: whole(hidden.world, hidden.act, { versions: 1 }),
    },
    { name: "a leaf that names another version 2", fails: "records", source: whole(lies.world, lies.act) },
    { name: "a genesis leaf of another cluster", fails: "records", source: whole(stranger.world, stranger.act) },
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

function badAuthority(): BadCase[] {
  const between = (name: string, before: NonNullable<ActOptions["before"]>): BadCase =>
    forged(name, "authority", { before });
  const handed = (name: string, options: Parameters<BundleWorld["grant"]>[2]): BadCase => {
    const parts: { lower?: Written } = {};
    return forged(name, "authority", {
      before: ({ world, deployer, agent, upper }) => {
        parts.lower = world.grant(deployer, agent, { parent: upper, depth: 1, ...options });
      },
      event: () => (parts.lower === undefined ? {} : { grant: parts.lower }),
    });
  };
  return [
    handed("a grant that its grantor's key has not signed", { signedBy: "mallory" }),
    handed("a grant whose witness is its grantor", { witness: "deployer" }),
    handed("a grant as deep as its parent", { depth: 2 }),
    ...strangers(),
    between("a claim that another issuer continues: what ended the one before is missing", ({ world }) => {
      world.claim("deployer", { issuer: "other issuer" });
    }),
  ];
}

/** Grants whose parents are not to their grantors, or end before them. */
function strangers(): BadCase[] {
  const world = new BundleWorld();
  const [root, deployer, agent] = [world.claim("root"), world.claim("deployer"), world.claim("agent")];
  const upper = world.grant(root, deployer, { expiresAt: world.clockMs + 1_000 });
  const longer = world.grant(deployer, agent, { parent: upper, depth: 1, expiresAt: world.clockMs + 9_000 });
  const byLonger = world.event("act", { iris: agent.claim, grant: longer });
  const foreign = world.grant(agent, root, { parent: upper, depth: 1 });
  const byForeign = world.event("act", { iris: root.claim, grant: foreign });
  return [
    { name: "a grant that ends after its parent's end", fails: "authority", source: whole(world, byLonger) },
    { name: "a grant under one that was not to its grantor", fails: "authority", source: whole(world, byForeign) },
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
    hiddenRevocation(),
  ];
}

function reversedDelegation(): Json {
  const { written } = NAMED.whole.world;
  const [upper, lower] = [at(written, 6), at(written, 7)];
  return [upper, lower].map((grant) => ({ grant: { anchor_id: idOf(grant) } }));
}

/** The service says that it is revoked; the leaf that says so was taken out. */
function hiddenRevocation(): BadCase {
  const parts = actOf({ after: ({ world, lower }) => void world.revoke(lower) });
  return {
    name: "the revocation left out, and the service's statement left in",
    fails: "stated",
    source: singles(parts, { stated: statedOf(parts.world, parts.act) }),
  };
}

/** Cosigned by a node that the newest version distrusts, and by too few others. */
function distrusted(): BadCase {
  const { world, act } = actOf();
  const bundle = world.cut({ subject: act, ranges: [1, 1, 1], cosigners: [0, 2] });
  const [a, b, c, d] = [0, 1, 2, 3].map((each) => ({ node: world.cluster.node(each) }));
  if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error("few nodes");
  world.rotate([a, b, { ...c, status: "distrusted", origin: "closed" }, d]);
  return {
    name: "a quorum that needs a distrusted node",
    fails: "checkpoints",
    source: { world, bundle: { ...bundle, trustRoots: world.documents } },
  };
}

export function badBundles(): BadCase[] {
  return [
    ...badTrustRoots(),
    ...badCheckpoints(),
    distrusted(),
    ...badLeaves(),
    ...badRanges(),
    ...badSubjects(),
    ...badSignatures(),
    ...badRecords(),
    ...badPositions(),
    ...badAuthority(),
    ...badStatements(),
  ];
}
