/** What a case of bundle.json is, and the act that most of them are about. */
import { LEAF_KIND, bytesToHex } from "@event-anchoring/protocol";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { formatBundle, verifyBundle } from "../../src/index.ts";
import type { Bundle, BundleCheckCode, BundleJson, BundleOutcome } from "../../src/index.ts";
import type { AsOf, AuthorityVerdict, RecordState, Trace } from "@event-anchoring/records";
import { BundleWorld, idOf } from "./bundle-world.ts";
import type { Cut, EventOptions, Party, Written } from "./bundle-world.ts";
import { StateOfLeaves } from "../state-bundles.ts";
import type { BundleOptions, StateWorld } from "../state-bundles.ts";
import { hashOf } from "../../../../test/vector-builders/keys.ts";
import type { Change, Json } from "../../../../test/vector-builders/json.ts";

/** What the reader knows besides the bundle. */
export interface Reader {
  /** Absent: that of version 1. */
  readonly pin?: Uint8Array;
  readonly highestSeen?: { readonly version: number; readonly rootThk: Uint8Array };
  readonly anchorId?: Uint8Array;
  readonly eventHash?: Uint8Array;
  /** Absent: witnesses are not demanded. */
  readonly requireWitnessed?: true;
}

/** A bundle, and what it was cut out of. */
export interface CutBundle {
  readonly bundle: Bundle;
  readonly world: BundleWorld;
}

/** The bundles that others are made from: with every leaf, with single leaves, with a state head, with a disclosure. */
export type BundleName = "whole" | "singles" | "state" | "scoped";

/** A bundle, or one of the named ones with some members changed. */
export type Source = CutBundle | { readonly of: BundleName; readonly changes: readonly Change[] };

export interface GoodCase {
  readonly name: string;
  readonly source: Source;
  readonly outcome: Exclude<BundleOutcome, "invalid">;
  /** Absent: true, the actor has signed. */
  readonly isActorProven?: false;
  readonly atAction: AuthorityVerdict;
  readonly now: AuthorityVerdict;
  /** Codes of why the act was not authorised at its own position; absent: the case does not say. */
  readonly reasons?: readonly string[];
  /** Checks that are `not_checked`; all others pass. */
  readonly notChecked?: readonly BundleCheckCode[];
  readonly complete: readonly [after: number, to: number] | null;
  readonly superseded?: number;
  /** Absent: not every head of it is witnessed. */
  readonly isWitnessed?: boolean;
  /** Where the subject is a claim or a grant: its state, and whether it is in force; absent: the case does not say. */
  readonly standing?: readonly [state: RecordState, isInForce: boolean];
  /** What is proved of each disclosure; absent: there is none. */
  readonly scopes?: Json;
  readonly reader?: Reader;
}

export interface BadCase {
  readonly name: string;
  readonly source: Source;
  /** The check that fails: those before it pass or are not_checked, those after it are not_checked. */
  readonly fails: BundleCheckCode;
  /** What its detail has; absent: the case does not say. */
  readonly code?: string;
  readonly reader?: Reader;
}

/** root → deployer → agent, who acts. */
export interface Act {
  readonly world: BundleWorld;
  readonly root: Party;
  readonly deployer: Party;
  readonly agent: Party;
  readonly upper: Written;
  readonly lower: Written;
  readonly act: Written;
}

/** How an act comes about, and what happens around it. */
export interface ActOptions {
  readonly world?: BundleWorld;
  readonly before?: (parts: Omit<Act, "act">) => void;
  readonly after?: (parts: Act) => void;
  readonly event?: (parts: Omit<Act, "act">) => EventOptions;
  /** The scope_hash of each grant; absent: a hash of something else. */
  readonly scopes?: { readonly upper: Uint8Array; readonly lower: Uint8Array };
}

/**
 * Sequences: genesis leaves 0 to 2; the claims of root 3, deployer 4 and agent 5; the grants to the deployer 6 and to
 * the agent 7; an event 8; whatever `before` writes; the act; whatever `after` writes; an event.
 */
export function actOf({ world = new BundleWorld(), before, after, event, scopes }: ActOptions = {}): Act {
  const [root, deployer, agent] = [
    world.claim("root"),
    world.claim("deployer", { at: 1 }),
    world.claim("agent", { at: 2 }),
  ];
  const upper = world.grant(root, deployer, { depth: 2, scopeHash: scopes?.upper });
  const lower = world.grant(deployer, agent, { at: 1, depth: 1, parent: upper, scopeHash: scopes?.lower });
  world.event("something else", { at: 2 });
  const parts = { world, root, deployer, agent, upper, lower };
  before?.(parts);
  const act = world.event("act", { at: 2, iris: agent.claim, grant: lower, actor: "agent", ...event?.(parts) });
  after?.({ ...parts, act });
  world.event("last");
  return { ...parts, act };
}

/** Every leaf but those of the first genesis. */
export function whole(world: BundleWorld, subject: Written, more: Partial<Cut> = {}): CutBundle {
  return {
    world,
    bundle: world.cut({ subject, ranges: world.cluster.nodes.map((_, at) => fromFirst(world, at)), ...more }),
  };
}

function fromFirst(world: BundleWorld, at: number): number | null {
  const tree = world.tree(at);
  if (tree.length <= 1) return null;
  // An origin of a later version begins among the leaves that are wanted.
  return (tree[0]?.leaf.sequence ?? 0) < 3 ? 1 : 0;
}

/** The leaves that a trace names, each with its proof. */
export function singles({ world, root, deployer, agent, upper, lower, act }: Act, more: Partial<Cut> = {}): CutBundle {
  const { singles: added = [], ...rest } = more;
  const named = [root.claim, deployer.claim, agent.claim, upper, lower, act, ...added];
  return { world, bundle: world.cut({ subject: act, singles: named, ...rest }) };
}

function statedJson({ anchorId, trace, bundle }: { anchorId: string; trace: Trace; bundle: Bundle }): BundleJson {
  return {
    anchor: { anchor_id: anchorId },
    as_of: { sequence: bundle.asOf.sequence, time_ms: bundle.asOf.timeMs },
    actor_proven: trace.isActorProven,
    authorised_at_action: trace.authorisedAtAction,
    authorised_now: trace.authorisedNow,
    suspect: trace.isSuspect,
    delegation: trace.delegation.hops.map(({ grant }) => ({ grant: { anchor_id: bytesToHex(grant.anchorId) } })),
    revocations: trace.revocations.map((each) => ({ anchor: { anchor_id: bytesToHex(each.anchorId) } })),
    violations: [],
  };
}

/** The state after the first leaves of a world, all of them by default, as its nodes sign it. */
export function stateOf(
  world: BundleWorld,
  more: { readonly leaves?: number; readonly others?: number; readonly forge?: StateWorld["forge"] } = {},
) {
  const leaves = [...world.written].sort((a, b) => a.leaf.sequence - b.leaf.sequence).slice(0, more.leaves);
  const named = leaves.flatMap(({ leaf }) => (leaf.kind === LEAF_KIND.trustRoot ? [leaf.version] : [])).at(-1) ?? 1;
  const signed = world.versions[named - 1];
  if (signed === undefined) throw new RangeError(`no version ${named}`);
  return new StateOfLeaves({
    leaves,
    documents: world.documents,
    signed,
    cosigners: new Map(world.cluster.nodes.map(({ nodeId, cosigner }) => [nodeId, cosigner])),
    ...(more.forge === undefined ? {} : { forge: more.forge }),
    others: Array.from({ length: more.others ?? 0 }, (_, at) => ({
      key: hashOf(`key ${at}`),
      valueHash: hashOf("value"),
    })),
  });
}

/** A bundle with the newest state head. */
export function short(world: BundleWorld, subject: Written, more: ShortOptions = {}): CutBundle {
  const { asOf, leaves, forge, ...options } = more;
  const state = stateOf(world, {
    ...(leaves === undefined ? {} : { leaves }),
    ...(forge === undefined ? {} : { forge }),
  });
  const { sequence, acceptedMs: timeMs } = state.last;
  return { world, bundle: state.bundle(subject, asOf ?? { sequence, timeMs }, options) };
}

export interface ShortOptions extends BundleOptions {
  /** Absent: where the head is. */
  readonly asOf?: AsOf;
  readonly forge?: StateWorld["forge"];
  /** How many leaves the head covers. */
  readonly leaves?: number;
}

/** What an honest service would state: judged over all there is. */
export function statedOf(world: BundleWorld, subject: Written, asOf = world.position(world.written.at(-1) ?? subject)) {
  const { bundle } = whole(world, subject, { asOf });
  const { trace, checks } = verifyBundle({ bundle, trust: { pinnedRootThk: world.pin } }, nodeCrypto);
  if (trace === null) throw new Error(JSON.stringify(checks.find(({ result }) => result === "fail")));
  return statedJson({ anchorId: idOf(subject), trace, bundle });
}

export function bundleJson(bundle: Bundle): Json {
  return JSON.parse(formatBundle(bundle)) as Json;
}
