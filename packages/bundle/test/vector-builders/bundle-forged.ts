/** Bundles of ledgers that no honest cluster would have made, and bundles from which something was left out. */
import { actOf, singles, statedOf, whole } from "./bundle-cases.ts";
import type { Act, ActOptions, BadCase } from "./bundle-cases.ts";
import { NAMED, itemAt as at } from "./bundle-named.ts";
import { BundleWorld } from "./bundle-world.ts";
import type { Written } from "./bundle-world.ts";
import { fill, hashOf } from "../../../../test/vector-builders/keys.ts";

const { bundle: WHOLE } = NAMED.whole;

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

export function forgedBundles(): BadCase[] {
  return [distrusted(), ...badSignatures(), ...badRecords(), ...badAuthority(), hiddenRevocation()];
}
