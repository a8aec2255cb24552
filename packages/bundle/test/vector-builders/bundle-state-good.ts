/** Bundles with a state head and nothing wrong in them. */
import { hashOf } from "../../../../test/vector-builders/keys.ts";
import { actOf, short, statedOf } from "./bundle-cases.ts";
import type { Act, ActOptions, CutBundle, GoodCase } from "./bundle-cases.ts";
import { BundleWorld } from "./bundle-world.ts";
import type { Written } from "./bundle-world.ts";

const CLAIM_OF_ROOT = 3;

function proved(name: string, atAction: boolean, now: boolean, options: ActOptions = {}): GoodCase {
  const { world, act } = actOf(options);
  const complete = [CLAIM_OF_ROOT, world.written.length - 1] as const;
  return { name, source: short(world, act), outcome: "valid", atAction, now, complete };
}

function acts(): GoodCase[] {
  const suspected = (parts: Act): void =>
    void parts.world.revoke(parts.agent.claim, { by: "issuer", authority: 1, suspectSince: parts.world.clockMs - 500 });
  return [
    proved("an act under two grants", true, true),
    proved("revoked after the act, by the witness", true, false, {
      after: ({ world, lower }) => void world.revoke(lower, { by: "witness", authority: 4 }),
    }),
    proved("revoked before the act and again after it", false, false, {
      before: ({ world, lower }) => void world.revoke(lower, { by: "deployer", authority: 3 }),
      after: ({ world, lower }) => void world.revoke(lower, { by: "witness", authority: 4 }),
    }),
    proved("the root's claim revoked after the act: it cascades", true, false, {
      after: ({ world, root }) => void world.revoke(root.claim, { by: "root", authority: 2 }),
    }),
    proved("the agent's claim revoked after the act, which it makes suspect", true, false, { after: suspected }),
    proved("the deployer's claim renewed twice before the act, and once after it", true, true, {
      before: ({ world }) => void [1, 2].map(() => world.claim("deployer", { at: 1 })),
      after: ({ world }) => void world.claim("deployer", { at: 0 }),
    }),
    proved("the agent's claim revoked and made anew before the act", false, false, {
      before: ({ world, agent }) => void [world.revoke(agent.claim), world.claim("agent", { at: 1 })],
    }),
    proved("the lower grant superseded after the act", true, false, {
      after: ({ world, deployer, agent, upper }) => void world.grant(deployer, agent, { parent: upper }),
    }),
    proved("under the claim of somebody to whom nothing was granted", false, false, {
      event: ({ deployer }) => ({ iris: deployer.claim, actor: "deployer" }),
    }),
    { ...proved("signed by nobody", true, true, { event: () => ({ actor: null }) }), isActorProven: false },
  ];
}

/** Where the head is, and where now is. */
function positions(): GoodCase[] {
  const { world, act, lower } = actOf();
  const revocation = world.revoke(lower, { by: "witness", authority: 4 });
  world.event("later");
  const newest = world.written.length - 1;
  const all = { outcome: "valid", atAction: true } as const;
  const at = (more: Parameters<typeof short>[2]): CutBundle => short(world, act, more);
  const before = world.position(act);
  const lastMs = world.clockMs;
  return [
    {
      name: "as of the act, from a head after the grant was revoked",
      source: at({ asOf: before }),
      ...all,
      now: true,
      complete: [CLAIM_OF_ROOT, newest],
    },
    {
      name: "the same from a head right after the act",
      source: at({ leaves: act.leaf.sequence + 1 }),
      ...all,
      now: true,
      complete: [CLAIM_OF_ROOT, act.leaf.sequence],
    },
    {
      name: "as of the revocation",
      source: at({ asOf: world.position(revocation) }),
      ...all,
      now: false,
      complete: [CLAIM_OF_ROOT, newest],
    },
    {
      name: "later than the newest leaf, before the time that the head excludes",
      source: at({ asOf: { sequence: newest, timeMs: lastMs + 4 } }),
      ...all,
      now: false,
      complete: [CLAIM_OF_ROOT, newest],
    },
    {
      name: "at the time that the head excludes no more",
      source: at({ asOf: { sequence: newest, timeMs: lastMs + 5 } }),
      outcome: "valid_as_stated",
      atAction: true,
      now: false,
      notChecked: ["window"],
      complete: [CLAIM_OF_ROOT, newest],
    },
    {
      name: "a head of more signatures than a quorum",
      source: at({ signers: ["a", "b", "c"] }),
      ...all,
      now: false,
      complete: [CLAIM_OF_ROOT, newest],
    },
    stated(),
  ];
}

function stated(): GoodCase {
  const { world, act } = actOf();
  return {
    name: "stated",
    source: short(world, act, { stated: statedOf(world, act) }),
    outcome: "valid",
    atAction: true,
    now: true,
    complete: [CLAIM_OF_ROOT, 10],
  };
}

/** Claims and grants are proved to be in force, or not to be. */
function standings(): GoodCase[] {
  const { world, root, agent, upper, lower } = actOf();
  const before = world.written.length;
  world.revoke(upper, { by: "witness", authority: 4 });
  world.claim("agent", { at: 1 });
  world.claim("founder");
  const none = { isActorProven: false, atAction: "unknown", now: "unknown", outcome: "valid" } as const;
  const of = (name: string, subject: Written, standing: GoodCase["standing"], more: object = {}): GoodCase => {
    const source = short(world, subject, more);
    const { leaf } = subject;
    const after = leaf.kind === 3 ? CLAIM_OF_ROOT : leaf.sequence;
    const to = "leaves" in more ? before - 1 : world.written.length - 1;
    return { name, source, ...none, complete: [after, to], ...(standing === undefined ? {} : { standing }) };
  };
  return [
    of("a claim in force", root.claim, ["active", true]),
    of("a claim that was superseded", agent.claim, ["superseded", false]),
    of("the same claim, as of a sequence before", agent.claim, ["active", true], { asOf: world.position(lower) }),
    of("a grant in force", lower, ["active", true], { leaves: before }),
    of("a grant that its parent's revocation ended", lower, ["revoked", false]),
    of("the same grant, as of a sequence before", lower, ["active", true], { asOf: world.position(lower) }),
  ];
}

function others(): GoodCase[] {
  const { world, lower } = actOf();
  const none = { isActorProven: false, atAction: "unknown", now: "unknown", outcome: "valid", complete: null } as const;
  const scroll = world.event("scroll", { at: 1 });
  const plain = world.event("plain", { scroll });
  const revocation = world.revoke(lower, { by: "witness", authority: 4 });
  return [
    { name: "an event that names another event", source: short(world, plain), ...none },
    { name: "a revocation", source: short(world, revocation), ...none },
    rotated(),
  ];
}

/** Version 2 is applied after the head: the head is still the one of version 1. */
function rotated(): GoodCase {
  const world = new BundleWorld();
  const { act } = actOf({ world });
  const leaves = world.written.length;
  const retired = { node: world.cluster.node(2), status: "retired", origin: "closed" } as const;
  world.rotate([...[0, 1, 3].map((at) => ({ node: world.cluster.node(at) })), retired]);
  return {
    name: "a head of version 1, judged with version 2",
    source: short(world, act, { leaves }),
    outcome: "valid",
    atAction: true,
    now: true,
    complete: [CLAIM_OF_ROOT, leaves - 1],
    superseded: 1,
    reader: { anchorId: act.anchorId, eventHash: hashOf("act") },
  };
}

export function goodStateBundles(): GoodCase[] {
  return [...acts(), ...positions(), ...standings(), ...others()];
}
