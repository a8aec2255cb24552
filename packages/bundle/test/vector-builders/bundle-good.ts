/** Bundles with nothing wrong in them: proved, or proved in part. */
import { hashOf } from "../../../../test/vector-builders/keys.ts";
import { actOf, singles, statedOf, whole } from "./bundle-cases.ts";
import type { Act, ActOptions, GoodCase } from "./bundle-cases.ts";
import { BundleWorld } from "./bundle-world.ts";

const UNPROVED = ["revocation", "superseded"] as const;

/** A whole ledger around an act: everything is proved. */
function proved(name: string, atAction: boolean, now: boolean, options: ActOptions = {}): GoodCase {
  const { world, act } = actOf(options);
  const last = world.written.length - 1;
  return { name, source: whole(world, act), outcome: "valid", atAction, now, complete: [3, last] };
}

function revocations(): GoodCase[] {
  const suspected = (parts: Act): void => {
    parts.world.revoke(parts.agent.claim, { by: "issuer", authority: 1, suspectSince: parts.world.clockMs - 1_000 });
  };
  return [
    proved("revoked after the act, by the witness", true, false, {
      after: ({ world, lower }) => void world.revoke(lower, { by: "witness", authority: 4 }),
    }),
    proved("revoked before the act, by the grantor", false, false, {
      before: ({ world, lower }) => void world.revoke(lower, { by: "deployer", authority: 3 }),
    }),
    proved("revoked before and after the act", false, false, {
      before: ({ world, lower }) => void world.revoke(lower, { by: "deployer", authority: 3 }),
      after: ({ world, lower }) => void world.revoke(lower, { by: "witness", authority: 4 }),
    }),
    proved("the root's claim revoked after the act, by its subject: it cascades", true, false, {
      after: ({ world, root }) => void world.revoke(root.claim, { by: "root", authority: 2 }),
    }),
    proved("the upper grant revoked before the act, by an operator", false, false, {
      before: ({ world, upper }) => void world.revoke(upper),
    }),
    proved("the agent's claim revoked after the act, which it makes suspect", true, false, { after: suspected }),
    proved("something else revoked before the act", true, true, {
      before: ({ world }) => void world.revoke(world.claim("somebody", { at: 1 }).claim),
    }),
  ];
}

function supersessions(): GoodCase[] {
  const renewed = (parts: Omit<Act, "act">): void =>
    void parts.world.claim("deployer", { key: "deployer's new key", at: 1 });
  const handedOn = (parts: Act): void => void parts.world.grant(parts.deployer, parts.agent, { parent: parts.upper });
  const newLineage = (parts: Omit<Act, "act">): void => {
    parts.world.revoke(parts.agent.claim);
    parts.world.claim("agent", { at: 1 });
  };
  return [
    proved("the deployer's claim renewed before the act", true, true, { before: renewed }),
    proved("the agent's claim renewed after the act", true, false, {
      after: ({ world }) => void world.claim("agent", { at: 1 }),
    }),
    proved("the lower grant superseded after the act", true, false, { after: handedOn }),
    proved("the agent's claim revoked and made anew before the act", false, false, { before: newLineage }),
    supersededByOrphan(),
  ];
}

/**
 * The newer grant stands under a parent that is older than all that is named. The parent need not be in the bundle: the
 * older grant ends all the same.
 */
function supersededByOrphan(): GoodCase {
  const world = new BundleWorld();
  const founder = world.claim("founder");
  const old = world.claim("root");
  const founding = world.grant(founder, old, { depth: 9 });
  const root = world.claim("root", { at: 1 });
  const agent = world.claim("agent", { at: 2 });
  const first = world.grant(root, agent, { at: 1 });
  world.grant(root, agent, { parent: founding });
  const act = world.event("act", { at: 2, iris: agent.claim, grant: first });
  const after = root.claim.leaf.sequence;
  return {
    name: "the grant superseded by one whose parent is older than the bundle",
    source: whole(world, act, { ranges: [4, 1, 1] }),
    outcome: "valid",
    isActorProven: false,
    atAction: false,
    now: false,
    complete: [after, act.leaf.sequence],
  };
}

function windows(): GoodCase[] {
  const bounded = (expiresAt: number, notBefore: number, name: string, atAction: boolean, now: boolean): GoodCase => {
    const world = new BundleWorld();
    const [root, agent] = [world.claim("root"), world.claim("agent", { at: 2 })];
    const grant = world.grant(root, agent, { expiresAt, notBefore });
    const act = world.event("act", { at: 1, iris: agent.claim, grant });
    world.event("last", { at: 2 });
    const verdicts = { isActorProven: false, atAction, now } as const;
    return { name, source: whole(world, act), outcome: "valid", ...verdicts, complete: [3, 7] };
  };
  // The act is accepted at 70 ms, the last event at 80 ms after the start.
  const start = new BundleWorld().clockMs - 30;
  return [
    bounded(start + 80, 0, "the grant expires with the last event", true, false),
    bounded(start + 81, 0, "the grant expires after the last event", true, true),
    bounded(start + 70, 0, "the grant expires with the act", false, false),
    bounded(0, start + 71, "the grant begins after the act", false, true),
    bounded(0, start + 70, "the grant begins with the act", true, true),
    proved("the deployer's claim expires after the act, and nobody renews it", true, false, expiring()),
  ];
}

/** The deployer's claim is renewed, with an end. */
function expiring(): ActOptions {
  return {
    before: ({ world }) => void world.claim("deployer", { at: 1, expiresAt: world.clockMs + 25 }),
  };
}

function otherSubjects(): GoodCase[] {
  const { world, agent, lower } = actOf();
  const none = { isActorProven: false, atAction: "unknown", now: "unknown" } as const;
  const plain = world.event("plain");
  const revocation = world.revoke(lower, { by: "witness", authority: 4 });
  const genesis = world.tree(1)[0];
  if (genesis === undefined) throw new Error("no genesis");
  const cutOf = (subject: typeof plain, more = {}) => ({
    world,
    bundle: world.cut({ subject, singles: [subject], ...more }),
  });
  return [
    { name: "an event that names nothing", source: cutOf(plain), outcome: "valid", ...none, complete: null },
    { name: "a genesis leaf", source: cutOf(genesis), outcome: "valid", ...none, complete: null },
    {
      name: "a revocation, with its target",
      source: cutOf(revocation, { singles: [revocation, lower] }),
      outcome: "valid",
      ...none,
      complete: null,
    },
    { name: "a claim", source: whole(world, agent.claim), outcome: "valid", ...none, complete: [5, 12] },
    { name: "a grant", source: whole(world, lower), outcome: "valid", ...none, complete: [3, 12] },
  ];
}

/** Something is not there. What it would have said is nowhere in the bundle, and so nothing of it is in the verdict. */
function partial(): GoodCase[] {
  const plain = actOf();
  const { world, act } = plain;
  const stated = statedOf(world, act);
  const unproved = { outcome: "valid_as_stated", atAction: true, now: true, notChecked: UNPROVED } as const;
  const revoked = actOf({ after: (parts) => void parts.world.revoke(parts.lower, { by: "witness", authority: 4 }) });
  const laterMs = world.clockMs + 1;
  return [
    {
      name: "singles, as stated",
      source: singles(plain, { stated }),
      ...unproved,
      notChecked: [...UNPROVED, "window"],
      complete: [3, 7],
    },
    {
      name: "singles, and nothing is stated",
      source: singles(plain),
      ...unproved,
      notChecked: [...UNPROVED, "window", "stated"],
      complete: [3, 7],
    },
    {
      name: "whole, and stated",
      source: whole(world, act, { stated }),
      outcome: "valid",
      atAction: true,
      now: true,
      complete: [3, 10],
    },
    {
      name: "one origin's checkpoint is older than as_of",
      source: whole(world, act, { sizes: [3], asOf: { sequence: 10, timeMs: world.clockMs } }),
      ...unproved,
      notChecked: [...UNPROVED, "window", "stated"],
      complete: [3, 9],
    },
    {
      name: "as of the act: what is proved up to it needs nothing later",
      source: whole(world, act, { sizes: [3], asOf: world.position(act) }),
      outcome: "valid",
      atAction: true,
      now: true,
      complete: [3, 9],
    },
    {
      name: "a revocation left out with the checkpoint that holds it",
      source: whole(revoked.world, revoked.act, { sizes: [undefined, 3] }),
      ...unproved,
      notChecked: [...UNPROVED, "stated"],
      complete: [3, 9],
    },
    {
      name: "a time later than that of the newest leaf",
      source: whole(world, act, { asOf: { sequence: 10, timeMs: laterMs } }),
      ...unproved,
      notChecked: ["window"],
      complete: [3, 10],
    },
    {
      name: "a sequence that nobody has shown",
      source: whole(world, act, { asOf: { sequence: 11, timeMs: laterMs } }),
      ...unproved,
      notChecked: [...UNPROVED, "window", "stated"],
      complete: [3, 10],
    },
  ];
}

/** Leaves of one entry have one time. The one that as_of names is not there, the one after it is. */
function sharedTime(): GoodCase {
  const world = new BundleWorld();
  const parts = actOf({ world, after: () => void (world.stepMs = 0) });
  const last = world.event("in the same entry", { at: 1 });
  const asOf = { sequence: last.leaf.sequence - 1, timeMs: world.clockMs };
  return {
    name: "a leaf that is not there, at the time of the next one",
    source: singles(parts, { asOf, singles: [last] }),
    outcome: "valid_as_stated",
    atAction: true,
    now: true,
    notChecked: [...UNPROVED, "window", "stated"],
    complete: [3, 7],
  };
}

/** Version 2 gives node d an origin, in which somebody revokes. */
function rotated(): { act: Act; members: Parameters<BundleWorld["rotate"]>[0] } {
  const world = new BundleWorld();
  const members = [0, 1, 2, 3].map((at) => ({ node: world.cluster.node(at) }));
  const act = actOf({
    world,
    before: ({ lower }) => {
      world.rotate([
        ...members.slice(0, 2),
        { node: world.cluster.node(2), status: "retired", origin: "closed" },
        ...members.slice(3),
      ]);
      world.revoke(lower, { at: 3 });
    },
  });
  return { act, members };
}

function trustRoots(): GoodCase[] {
  const { world, act } = rotated().act;
  const first = actOf();
  const byOld = first.world.cut({ subject: first.act, ranges: [1, 1, 1], cosigners: [1, 2] });
  const rotatedLater = new BundleWorld();
  const later = actOf({ world: rotatedLater });
  const retired = { node: rotatedLater.cluster.node(2), status: "retired", origin: "closed" } as const;
  const certified = rotatedLater.cut({ subject: later.act, ranges: [1, 1, 1], cosigners: [1, 2] });
  rotatedLater.rotate([0, 1, 3].map((at) => ({ node: rotatedLater.cluster.node(at) })).concat(retired));
  const { documents } = rotatedLater;
  const verdicts = { atAction: false, now: false } as const;
  const last = world.written.length - 1;
  const lost = lostOrigin();
  return [
    {
      name: "two versions, and a revocation in the newest origin",
      source: whole(world, act),
      outcome: "valid",
      ...verdicts,
      complete: [3, last],
    },
    {
      name: "pinned at version 2",
      source: whole(world, act),
      outcome: "valid",
      ...verdicts,
      complete: [3, last],
      reader: { pin: world.thks[1] ?? hashOf("none") },
    },
    {
      name: "the newest origin left out, and the version that names it, with every leaf that does",
      source: {
        world,
        bundle: world.cut({ subject: act, ranges: [1, 1, 1], sizes: [3, 3], singles: [], versions: 2 }),
      },
      outcome: "valid_as_stated",
      atAction: true,
      now: true,
      notChecked: [...UNPROVED, "window", "stated"],
      complete: [3, 8],
    },
    {
      name: "other cosigners",
      source: { world: first.world, bundle: byOld },
      outcome: "valid",
      atAction: true,
      now: true,
      complete: [3, 10],
    },
    {
      name: "cosigned by a node that is retired since",
      source: { world: rotatedLater, bundle: { ...certified, trustRoots: documents } },
      outcome: "valid",
      atAction: true,
      now: true,
      complete: [3, 10],
      superseded: 1,
    },
    lost,
  ];
}

/** Leaves of a lost origin are there, and fill no gap. */
function lostOrigin(): GoodCase {
  const world = new BundleWorld();
  const parts = actOf({ world, event: () => ({ at: 1 }) });
  const [a, b, c, d] = [0, 1, 2, 3].map((at) => ({ node: world.cluster.node(at) }));
  if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error("few nodes");
  const asOf = world.position(world.written.at(-1) ?? parts.act);
  world.rotate([a, b, { ...c, status: "retired", origin: "lost" }, d]);
  return {
    name: "a lost origin fills no gap",
    source: whole(world, parts.act, { asOf, cosigners: [0, 1] }),
    outcome: "valid_as_stated",
    atAction: true,
    now: true,
    notChecked: [...UNPROVED, "stated"],
    complete: [3, 3],
  };
}

function readers(): GoodCase[] {
  const { world, act } = actOf();
  const [thk = hashOf("none")] = world.thks;
  const source = whole(world, act);
  const all = { source, outcome: "valid", atAction: true, now: true, complete: [3, 10] } as const;
  return [
    { name: "the event that was asked about", ...all, reader: { anchorId: act.anchorId, eventHash: hashOf("act") } },
    { name: "the highest version seen", ...all, reader: { highestSeen: { version: 1, rootThk: thk } } },
    { name: "ranges from genesis on", ...all, source: whole(world, act, { ranges: [0, 0, 0] }) },
    { name: "a range and singles", ...all, source: mixed(world, act) },
  ];
}

/** Origins a and b are whole; every leaf of c has its own proof. */
function mixed(world: BundleWorld, act: Act["act"]) {
  return whole(world, act, { ranges: [1, 1, null], singles: world.tree(2) });
}

function actors(): GoodCase[] {
  const unproven = { isActorProven: false } as const;
  const foreign = { ...unproven, atAction: false, now: false } as const;
  const { world, agent } = actOf();
  const alone = world.event("alone", { iris: agent.claim, actor: "mallory" });
  const last = world.written.length - 1;
  return [
    {
      ...proved("signed by somebody else than the claim names: recorded, and not authorised", false, false, {
        event: () => ({ actor: "mallory" }),
      }),
      ...unproven,
      reasons: ["actor_key_mismatch"],
    },
    {
      ...proved("signed by somebody else, under a grant that was revoked before", false, false, {
        before: (parts) => void parts.world.revoke(parts.lower, { by: "deployer", authority: 3 }),
        event: () => ({ actor: "mallory" }),
      }),
      ...unproven,
      reasons: ["actor_key_mismatch", "grant_revoked"],
    },
    {
      name: "signed by somebody else, without a grant: not authorised whatever is missing",
      source: whole(world, alone),
      outcome: "valid",
      ...foreign,
      complete: [agent.claim.leaf.sequence, last],
      reasons: ["actor_key_mismatch", "grant_ref_empty"],
    },
    {
      ...proved("signed by nobody: authorised, and the actor is not proven", true, true, {
        event: () => ({ actor: null }),
      }),
      ...unproven,
      reasons: [],
    },
    {
      ...proved("under the claim of somebody to whom nothing was granted", false, false, {
        event: ({ deployer }) => ({ iris: deployer.claim, actor: "deployer" }),
      }),
      reasons: ["actor_not_grantee"],
    },
    proved("in the origin of another node", true, true, { event: () => ({ at: 0 }) }),
  ];
}

export function goodBundles(): GoodCase[] {
  return [
    proved("complete", true, true),
    ...partial(),
    sharedTime(),
    ...revocations(),
    ...supersessions(),
    ...windows(),
    ...otherSubjects(),
    ...trustRoots(),
    ...readers(),
    ...actors(),
  ];
}
