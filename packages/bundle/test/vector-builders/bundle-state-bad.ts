/** Bundles with a state head in which something is forged, altered or left out. */
import { bytesToBase64, concatBytes } from "@event-anchoring/protocol";
import type { StateHead } from "@event-anchoring/protocol";
import type { Bundle } from "../../src/index.ts";
import { actOf, bundleJson, short } from "./bundle-cases.ts";
import type { Act, BadCase, ShortOptions } from "./bundle-cases.ts";
import { Cluster } from "./bundle-cluster.ts";
import { NAMED, itemAt as at } from "./bundle-named.ts";
import type { Malformed } from "./bundle-malformed.ts";
import { BundleWorld } from "./bundle-world.ts";
import { changed } from "../../../../test/vector-builders/json.ts";
import type { Change, Json } from "../../../../test/vector-builders/json.ts";
import { fill, hashOf } from "../../../../test/vector-builders/keys.ts";

type State = NonNullable<Bundle["state"]>;

const { bundle: BUNDLE, world: WORLD } = NAMED.state;

function stateOfBundle({ state }: Bundle): State {
  if (state === null) throw new Error("no state head");
  return state;
}

const STATE = stateOfBundle(BUNDLE);

function altered(name: string, fails: BadCase["fails"], ...changes: Change[]): BadCase {
  return { name, fails, source: { of: "state", changes } };
}

function flip(bytes: Uint8Array, offset: number): Uint8Array {
  const copy = Uint8Array.from(bytes);
  copy[offset] = (copy[offset] ?? 0) ^ 1;
  return copy;
}

const siblings = (list: readonly Uint8Array[]): Change => ["/state/siblings", bytesToBase64(concatBytes(...list))];
const value = (place: number, bytes: Uint8Array): Change => [`/state/records/${place}/value`, bytesToBase64(bytes)];

function badPaths(): BadCase[] {
  const [first, second] = STATE.siblings;
  if (first === undefined || second === undefined) throw new Error("few siblings");
  const { level } = at(STATE.records, 0);
  return [
    altered("a sibling forged", "state", siblings([flip(first, 31), ...STATE.siblings.slice(1)])),
    altered("two siblings in each other's place", "state", siblings([second, first, ...STATE.siblings.slice(2)])),
    altered("a sibling missing", "state", siblings(STATE.siblings.slice(0, -1))),
    altered("a sibling left over", "state", siblings([...STATE.siblings, fill(0)])),
    altered("no siblings", "state", siblings([])),
    altered("a record one level higher", "state", ["/state/records/0/level", level - 1]),
    altered("a record one level deeper", "state", ["/state/records/0/level", level + 1]),
    altered("a record at level 256", "state", ["/state/records/0/level", 256]),
    altered("siblings, and no record", "state", ["/state/records", []]),
  ];
}

/** Offsets in the value of a claim: sequence 0, client 8, lineage 24, superseded at 32, revoked at 40. */
function badValues(): BadCase[] {
  const revoked = actOf({ after: ({ world, lower }) => void world.revoke(lower, { by: "witness", authority: 4 }) });
  const cut = short(revoked.world, revoked.act);
  const { records } = stateOfBundle(cut.bundle);
  const hidden = records.map((record) =>
    record.value.length === 84 ? { ...record, value: concatBytes(record.value.slice(0, 76), fill(0, 8)) } : record,
  );
  const [claim, other] = [at(STATE.records, 0), at(STATE.records, 1)];
  const event = at(WORLD.written, 8);
  return [
    {
      name: "a revocation taken out of its grant's value",
      fails: "state",
      source: { ...cut, bundle: { ...cut.bundle, state: { ...stateOfBundle(cut.bundle), records: hidden } } },
    },
    altered("a claim superseded that is not", "state", value(0, flip(claim.value, 39))),
    altered("another recorder", "state", value(0, flip(claim.value, 8))),
    altered("another lineage", "state", value(0, flip(claim.value, 31))),
    altered("the values of two claims in each other's place", "state", value(0, other.value), value(1, claim.value)),
    altered("another sequence than the leaf's", "state", value(0, flip(claim.value, 7))),
    altered("a value that ends early", "state", value(0, claim.value.slice(0, -1))),
    altered("a value with something after it", "state", value(0, concatBytes(claim.value, fill(0, 1)))),
    altered("a sequence above 2^53", "state", value(0, concatBytes(fill(0xff, 8), claim.value.slice(8)))),
    altered("a record twice", "state", ["/state/records", recordsJson([...STATE.records, claim])]),
    altered("a leaf altered", "state", ["/state/records/0/leaf", bytesToBase64(flip(claim.leaf, 200))]),
    altered("a record that is an event", "state", ["/state/records/0/leaf", bytesToBase64(event.bytes)]),
    altered("a record that is no leaf", "state", ["/state/records/0/leaf", bytesToBase64(fill(7, 391))]),
    invented(),
  ];
}

function recordsJson(records: State["records"]): Json {
  return records.map(({ leaf, value: bytes, level }) => ({
    leaf: bytesToBase64(leaf),
    value: bytesToBase64(bytes),
    level,
  }));
}

/** A claim that nobody recorded: its path ends at the leaf of another key. */
function invented(): BadCase {
  const world = new BundleWorld();
  const { act } = actOf({ world });
  const cut = short(world, act);
  const state = stateOfBundle(cut.bundle);
  const { claim } = world.claim("agent", { at: 1 });
  const own = at(state.records, 2);
  const records = state.records.map((each) => (each === own ? { ...own, leaf: claim.bytes } : each));
  return {
    name: "a claim that is not in the tree in the place of one that is",
    fails: "state",
    source: { ...cut, bundle: { ...cut.bundle, state: { ...state, records } } },
  };
}

function withHead(name: string, options: ShortOptions, edit: (head: string) => string = (head) => head): BadCase {
  const { world, act } = actOf();
  const cut = short(world, act, options);
  const state = stateOfBundle(cut.bundle);
  const head = edit(state.head);
  if (head === state.head && Object.keys(options).length === 0) throw new Error("nothing was altered");
  return { name, fails: "state", source: { ...cut, bundle: { ...cut.bundle, state: { ...state, head } } } };
}

function badHeads(): BadCase[] {
  const spoilt = (name: string, spoil: Partial<StateHead>): BadCase => withHead(name, { spoil });
  const other = new BundleWorld(new Cluster("anchor.example/other", 0xc2));
  const foreign = actOf({ world: other });
  const foreignHead = stateOfBundle(short(other, foreign.act).bundle).head;
  const lineOf = (head: string): string => at(head.trimEnd().split("\n"), head.trimEnd().split("\n").length - 1);
  return [
    withHead("signed by one node", { signers: ["a"] }),
    withHead("signed by a node and one that is not of the cluster yet", { signers: ["a", "d"] }),
    withHead("one signature twice", {}, (head) => `${head}${lineOf(head)}\n`),
    withHead("a signature altered", {}, (head) => head.replace(/.{12}=*\n$/, "AAAAAAAAAAA=\n")),
    withHead("no signature", {}, (head) => head.slice(0, head.indexOf("— "))),
    withHead("another root than was signed", {}, (head) => head.replace(/\nstate ..../, "\nstate 0000")),
    withHead("more leaves than were signed", {}, (head) => head.replace(/\nleaves 11 /, "\nleaves 12 ")),
    withHead("a checkpoint in its place", {}, () => WORLD.checkpoint(0)),
    withHead("a text in its place", {}, () => "state\n"),
    withHead("the head of another cluster", {}, () => foreignHead),
    spoilt("signed, of another epoch", { epoch: 1 }),
    spoilt("signed, of a version that is not held", { trustRootVersion: 2 }),
    spoilt("signed, of another document of this version", { rootThk: hashOf("another") }),
    spoilt("signed, of another cluster id", { clusterId: hashOf("another cluster") }),
    spoilt("signed, over another state", { stateRoot: hashOf("another state") }),
    spoilt("signed, over the empty state", { stateRoot: fill(0) }),
    spoilt("signed, without an origin", { origins: [] }),
    ...oldHeads(),
    distrusted(),
  ];
}

function oldHeads(): BadCase[] {
  const { world, act } = actOf();
  const cut = short(world, act, { leaves: act.leaf.sequence + 1 });
  const newest = at(world.written, world.written.length - 1);
  const before = short(world, at(world.written, 7), { leaves: 9 });
  const asOf = world.position(newest);
  return [
    { name: "a head that is older than as_of", fails: "state", source: { ...cut, bundle: { ...cut.bundle, asOf } } },
    {
      name: "a head that is older than the act",
      fails: "state",
      source: { world, bundle: { ...cut.bundle, state: before.bundle.state } },
    },
  ];
}

/** The newest version distrusts one of the two signers. */
function distrusted(): BadCase {
  const world = new BundleWorld();
  const { act } = actOf({ world });
  const cut = short(world, act);
  const [a, b, c, d] = [0, 1, 2, 3].map((each) => ({ node: world.cluster.node(each) }));
  if (a === undefined || b === undefined || c === undefined || d === undefined) throw new Error("few nodes");
  world.rotate([a, { ...b, status: "distrusted", origin: "closed" }, c, d]);
  return {
    name: "signed by a node that is distrusted since",
    fails: "state",
    source: { world, bundle: { ...cut.bundle, trustRoots: world.documents } },
  };
}

/** A bundle without one of its records, whose paths go together all the same. */
function leftOut(
  name: string,
  fails: BadCase["fails"],
  options: ActOptionsOf,
  missing: (parts: Act) => number[],
): BadCase {
  const parts = actOf(options);
  const { world, act } = parts;
  const cut = short(world, act, { without: missing(parts) });
  return { name, fails, source: cut };
}

type ActOptionsOf = Parameters<typeof actOf>[0];

function missingRecords(): BadCase[] {
  const renewed: ActOptionsOf = { before: ({ world }) => void world.claim("deployer", { at: 1 }) };
  const sequenceOf = ({ leaf }: { readonly leaf: { readonly sequence: number } }): number[] => [leaf.sequence];
  const revoked: ActOptionsOf = {
    after: ({ world, lower }) => void world.revoke(lower, { by: "witness", authority: 4 }),
  };
  return [
    leftOut("the newest claim of a lineage is left out", "records", renewed, () => [8 + 1]),
    strangerInLineage("signed, with another entity's claim in the agent's lineage", "issuer", "mallory"),
    strangerInLineage("signed, with another issuer's claim in the agent's lineage", "mallory", "agent"),
    leftOut("the claim of the root is left out", "records", {}, ({ root }) => sequenceOf(root.claim)),
    leftOut("the parent of the grant is left out", "records", {}, ({ upper }) => sequenceOf(upper)),
    leftOut("the grant is left out", "records", {}, ({ lower }) => sequenceOf(lower)),
    leftOut("the claim of the actor is left out", "records", {}, ({ agent }) => sequenceOf(agent.claim)),
    leftOut("the act is left out", "subject", {}, ({ act }) => sequenceOf(act)),
    leftOut("the revocation is left out that the grant's value names", "authority", revoked, ({ act }) => [
      act.leaf.sequence + 1,
    ]),
  ];
}

/** A quorum that lies has signed that a stranger's claim continues the agent's lineage. */
function strangerInLineage(name: string, issuer: string, entity: string): BadCase {
  const world = new BundleWorld();
  const { agent, lower } = actOf({ world });
  const lineage = agent.claim.leaf.sequence;
  // A claim of the same entity by another issuer can be recorded once the agent's claim is revoked.
  if (entity === "agent") world.revoke(agent.claim);
  const { claim } = world.claim(entity, { at: 1, issuer, key: "mallory" });
  const act = world.event("forged act", { iris: claim, grant: lower, actor: "mallory" });
  const forge: ShortOptions["forge"] = (record) =>
    record.sequence === claim.leaf.sequence
      ? { ...record, lineage }
      : record.sequence === lineage
        ? { ...record, revokedAt: null, supersededAt: claim.leaf.sequence }
        : record;
  return { name, fails: "records", source: short(world, act, { forge }) };
}

function badLeaves(): BadCase[] {
  const { leaf, inclusion } = at(BUNDLE.leaves, 0);
  const [first, ...rest] = inclusion;
  if (first === undefined) throw new Error("an empty path");
  const path = (hashes: readonly Uint8Array[]): Change => [
    "/leaves/0/inclusion",
    hashes.map((hash) => bytesToBase64(hash)),
  ];
  const late = { sequence: BUNDLE.asOf.sequence, time_ms: BUNDLE.asOf.timeMs - 1 };
  return [
    altered("a path forged", "leaves", path([flip(first, 0), ...rest])),
    altered("a path cut short", "leaves", path(rest)),
    altered("another event", "leaves", ["/leaves/0/leaf", bytesToBase64(flip(leaf, 130))]),
    altered("as of a time before that of the newest leaf", "window", ["/as_of", late]),
    altered("another verdict is stated", "stated", ["/stated/authorised_now", false]),
  ];
}

export function badStateBundles(): BadCase[] {
  return [...badPaths(), ...badValues(), ...badHeads(), ...missingRecords(), ...badLeaves()];
}

export function malformedStateBundles(): Malformed[] {
  const base = bundleJson(BUNDLE);
  const of = (name: string, ...changes: Change[]): Malformed => [
    name,
    "bundle_malformed",
    JSON.stringify(changes.reduce<Json>((json, change) => changed(json, change), base)),
  ];
  return [
    of("a checkpoint beside the state head", ["/checkpoints", [WORLD.checkpoint(0)]]),
    of("a leaf that names a checkpoint", ["/leaves/0/checkpoint", 0]),
    of("a level above 256", ["/state/records/0/level", 257]),
    of("a level that is no number", ["/state/records/0/level", "5"]),
    of("siblings of 33 bytes", ["/state/siblings", bytesToBase64(fill(1, 33))]),
    of("siblings as a list", ["/state/siblings", []]),
    of("a head that is no text", ["/state/head", 1]),
    of("a state that is a list", ["/state", []]),
    of("a state without records", ["/state", { head: "", siblings: "" }]),
    of("a state with something more", ["/state", { head: "", records: [], siblings: "", more: 1 }]),
    of("a record with something more", ["/state/records/0", { leaf: "", value: "", level: 0, more: 1 }]),
    of("a leaf without a checkpoint, and no state head", ["/state", null]),
  ];
}
