/** Bundles under heads that enough witnesses have signed, or too few, for readers who demand them or not. */
import { actOf, short, singles, statedOf, whole } from "./bundle-cases.ts";
import type { BadCase, GoodCase, Reader } from "./bundle-cases.ts";
import { Cluster, watcher } from "./bundle-cluster.ts";
import type { Watcher } from "./bundle-cluster.ts";
import { BundleWorld } from "./bundle-world.ts";

const [north, south, west, east] = [
  watcher("north", 0x71),
  watcher("south", 0x72),
  watcher("west", 0x73),
  watcher("east", 0x74),
];
const ENOUGH = [north, south];
const DEMANDED: Reader = { requireWitnessed: true };

function watched(watchers: readonly Watcher[] = [north, south, west], needed = 2): BundleWorld {
  const cluster = new Cluster("anchor.example/demo", 0xc1);
  cluster.watch(watchers, needed);
  return new BundleWorld(cluster);
}

/** One event that names nothing, under one head. */
function plain(lines: readonly Watcher[], world = watched()) {
  const subject = world.event("plain");
  const bundle = world.cut({ subject, singles: [subject], witnessedBy: [lines] });
  return { world, bundle };
}

/** The witnesses of version 1 are others than those of version 2. */
function rotated(lines: readonly Watcher[]) {
  const world = watched([east], 1);
  world.cluster.watch([north, south, west], 2);
  world.rotate([0, 1, 2].map((at) => ({ node: world.cluster.node(at) })));
  return plain(lines, world);
}

export function goodWitnessedBundles(): GoodCase[] {
  const acted = actOf({ world: watched() });
  const { world, act } = acted;
  const [stated, witnessedBy] = [statedOf(world, act), [ENOUGH, [south, west], [north, south, west]]];
  const unnamed = { isActorProven: false, atAction: "unknown", now: "unknown", complete: null } as const;
  const alone = { ...unnamed, outcome: "valid", reader: DEMANDED, isWitnessed: true } as const;
  return [
    {
      name: "witnesses demanded: enough have signed each head",
      source: whole(world, act, { witnessedBy }),
      outcome: "valid",
      atAction: true,
      now: true,
      complete: [3, 10],
      reader: DEMANDED,
      isWitnessed: true,
    },
    {
      name: "witnesses demanded: what is as stated stays so",
      source: singles(acted, { stated, witnessedBy }),
      outcome: "valid_as_stated",
      atAction: true,
      now: true,
      notChecked: ["revocation", "superseded", "window"],
      complete: [3, 7],
      reader: DEMANDED,
      isWitnessed: true,
    },
    { name: "witnesses demanded: a stranger's line is ignored", source: plain([east, north, west]), ...alone },
    { name: "witnesses demanded: those of the newest trust root", source: rotated(ENOUGH), ...alone },
    { ...alone, name: "enough witnesses, not demanded", source: plain(ENOUGH), reader: {} },
    { ...alone, name: "one witness too few, not demanded", source: plain([west]), reader: {}, isWitnessed: false },
  ];
}

/** The last line of the first note is that of a witness. */
function badLine(): BadCase {
  const { world, bundle } = plain(ENOUGH);
  const [note = ""] = bundle.checkpoints;
  const altered = note.replace(/(.)(.{4})\n$/u, (_, letter: string, rest: string) => {
    return `${letter === "A" ? "B" : "A"}${rest}\n`;
  });
  const source = { world, bundle: { ...bundle, checkpoints: [altered] } };
  return { name: "a bad line of a witness, not demanded", fails: "checkpoints", source, code: "signature_invalid" };
}

export function badWitnessedBundles(): BadCase[] {
  const { world, act } = actOf({ world: watched() });
  const few = { fails: "witnesses", reader: DEMANDED, code: "not_witnessed" } as const;
  const witnessedBy = [ENOUGH, ENOUGH, [west]];
  return [
    { name: "witnesses demanded: one head of three lacks a line", source: whole(world, act, { witnessedBy }), ...few },
    { name: "witnesses demanded: nobody has signed", source: plain([]), ...few },
    { name: "witnesses demanded: one of two is a stranger", source: plain([north, east]), ...few },
    { name: "witnesses demanded: those of an earlier trust root", source: rotated([east]), ...few },
    {
      name: "witnesses demanded: the trust root lists none",
      source: { of: "whole", changes: [] },
      ...few,
      code: "no_witnesses",
    },
    badLine(),
  ];
}

export function goodWitnessedStates(): GoodCase[] {
  const { world, act } = actOf({ world: watched() });
  const verdicts = { outcome: "valid", atAction: true, now: true, complete: [3, 10] } as const;
  return [{ name: "witnesses listed, and not demanded", source: short(world, act), ...verdicts }];
}

export function badWitnessedStates(): BadCase[] {
  const { world, act } = actOf({ world: watched() });
  const refused = { fails: "witnesses", reader: DEMANDED } as const;
  return [
    { name: "witnesses demanded", source: short(world, act), ...refused, code: "state_not_witnessed" },
    {
      name: "witnesses demanded: the trust root lists none",
      source: { of: "state", changes: [] },
      ...refused,
      code: "no_witnesses",
    },
  ];
}
