/** Judges a bundle offline. docs/PROTOCOL.md, "Bundle". */
import { LEAF_KIND, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { AnchorId, Crypto, Leaf, TrustRootChain } from "@event-anchoring/protocol";
import type { AuthorityVerdict, AsOf, Check, CheckResult, Trace } from "@event-anchoring/records";
import type { Bundle } from "../format/bundle.ts";
import { BundleFailure, failUnless } from "./bundle-failure.ts";
import { proveCheckpoints, proveLeaves, proveRanges, treeOfCheckpoint } from "./proved-leaves.ts";
import type { ProvedLeaf } from "./proved-leaves.ts";
import { proveScopes } from "./proved-scopes.ts";
import type { ProvedScope } from "./proved-scopes.ts";
import { proveState } from "./proved-state.ts";
import type { ProvedState } from "./proved-state.ts";
import { StateBook, judgeLineages } from "./state-book.ts";
import {
  ProvedLeaves,
  completenessOf,
  completenessOfState,
  deriveRecords,
  judgeNestedSignatures,
  judgeNewestClaims,
  judgeOrder,
  judgeTrustRootLeaves,
  lineageFault,
  viewOf,
} from "./bundle-records.ts";
import type { BundleRecords, BundleView, Completeness } from "./bundle-records.ts";
import { standingOf } from "./standing.ts";
import type { Standing } from "./standing.ts";
import { statedDifference } from "./stated-trace.ts";
import { traceBundle } from "./bundle-trace.ts";
import { judgeTrustRoots } from "./bundle-trust.ts";
import type { BundleTrust, HighestSeen } from "./bundle-trust.ts";
import { whyNotWitnessed } from "./witnessed-heads.ts";
import { rememberVerdicts, isEvent } from "@event-anchoring/records";

/** In the order in which they are made. After one that fails nothing more is checked. */
export const BUNDLE_CHECKS = [
  "trust_roots",
  "checkpoints",
  "state",
  "witnesses",
  "leaves",
  "ranges",
  "subject",
  "signatures",
  "records",
  "revocation",
  "superseded",
  "window",
  "authority",
  "stated",
  "scopes",
] as const;

export type BundleCheckCode = (typeof BUNDLE_CHECKS)[number];

/**
 * `valid`: everything was proved. `valid_as_stated`: nothing is wrong, but something was not proved: it rests on the
 * word of the bundle's maker, and is never shown as valid. `invalid`: something is wrong.
 */
export type BundleOutcome = "valid" | "valid_as_stated" | "invalid";

/** What the reader expects the bundle to be about. */
export interface BundleExpectation {
  readonly anchorId?: Uint8Array | undefined;
  /** SHA-256 of the reader's own event. */
  readonly eventHash?: Uint8Array | undefined;
}

export interface BundleInput {
  /** From parseBundle; attacker-controlled. */
  readonly bundle: Bundle;
  readonly trust: BundleTrust;
  /** Absent: the reader keeps none. */
  readonly highestSeen?: HighestSeen | undefined;
  readonly expect?: BundleExpectation | undefined;
  /** Refuses a bundle that rests on a head which is certified and not witnessed. Default: false. */
  readonly requireWitnessed?: boolean | undefined;
}

export interface BundleVerification {
  readonly outcome: BundleOutcome;
  /** All of BUNDLE_CHECKS, in their order. */
  readonly checks: readonly Check<BundleCheckCode>[];
  /** As the bundle names it. */
  readonly subject: AnchorId;
  /** The position of *now*. */
  readonly asOf: AsOf;
  /** The subject of the iris claim has signed the event; false also if the bundle is invalid. */
  readonly actorProven: boolean;
  /** `unknown` if the bundle is invalid. */
  readonly authorisedAtAction: AuthorityVerdict;
  readonly authorisedNow: AuthorityVerdict;
  /** Whether a claim or a grant is in force at `asOf`; null for other subjects, and if the bundle is invalid. */
  readonly standing: Standing | null;
  /**
   * How far it is proved that no ending is missing; null: nothing can end, or the check was not reached. If `to` is not
   * below the sequence of the subject, the verdict at the action is proved, whatever the outcome.
   */
  readonly complete: Completeness | null;
  /** The leaf of the subject; null if the bundle is invalid. */
  readonly leaf: Leaf | null;
  /** Null if the bundle is invalid. Its `possibleParents` are those among the leaves of the bundle. */
  readonly trace: Trace | null;
  /** Witnesses outside the cluster have signed every head that it rests on; false also if the bundle is invalid. */
  readonly witnessed: boolean;
  /** The disclosures that are proved, as the bundle has them; none if it is invalid. */
  readonly scopes: readonly ProvedScope[];
  /** The newest version used for judging, and the oldest that a checkpoint needed instead of it, if one did. */
  readonly trustRoot: { readonly version: number; readonly superseded: number | null } | null;
}

/** What a check found. */
interface Finding {
  readonly result: Exclude<CheckResult, "fail">;
  readonly detail: string;
}

function pass(detail: string): Finding {
  return { result: "pass", detail };
}

function notChecked(detail: string): Finding {
  return { result: "not_checked", detail };
}

/** The results so far: each check adds to them. */
interface Progress {
  readonly input: BundleInput;
  readonly crypto: Crypto;
  trustRoots: TrustRootChain | null;
  checkpoints: ReturnType<typeof proveCheckpoints>;
  state: ProvedState | null;
  isWitnessed: boolean;
  proved: ProvedLeaf[];
  leaves: ProvedLeaves;
  subject: ProvedLeaf | null;
  records: BundleRecords | null;
  view: BundleView | null;
  complete: Completeness | null;
  trace: Trace | null;
  scopes: readonly ProvedScope[];
}

/** A check comes after those that it builds on. */
function found<Value>(value: Value | null): Value {
  if (value === null) throw new RangeError("a check was made before one that it builds on");
  return value;
}

function positionText({ sequence, timeMs }: AsOf): string {
  return `sequence ${sequence} at ${timeMs} ms`;
}

function checkTrustRoots(progress: Progress): Finding {
  const { bundle, trust, highestSeen } = progress.input;
  const chain = judgeTrustRoots(bundle.trustRoots, trust, highestSeen ?? null, progress.crypto);
  progress.trustRoots = chain;
  const first = chain.versions[0]?.trustRoot.version ?? 0;
  const from = trust.trustRoots === undefined ? "the pinned one" : "the one that the reader holds";
  return pass(`versions ${first} to ${chain.newest.trustRoot.version}, from ${from} on`);
}

/** The oldest version that alone satisfies a checkpoint or judges the state head; null: the newest does for all. */
function supersededOf({ checkpoints, state, trustRoots }: Progress): number | null {
  const versions = checkpoints.flatMap(({ supersededTrustRoot }) => supersededTrustRoot ?? []);
  if (state !== null && state.version !== trustRoots?.newest.trustRoot.version) versions.push(state.version);
  return versions.length === 0 ? null : Math.min(...versions);
}

function checkCheckpoints(progress: Progress): Finding {
  const { bundle } = progress.input;
  progress.checkpoints = proveCheckpoints(bundle.checkpoints, found(progress.trustRoots), progress.crypto);
  const superseded = supersededOf(progress);
  const older = superseded === null ? "" : `; one satisfies only trust root ${superseded}, which is superseded`;
  return pass(`${progress.checkpoints.length} trees, each cosigned by a quorum${older}`);
}

/** A quorum has signed the head, it is not older than the position of now, and the records are in its tree. */
function checkState(progress: Progress): Finding {
  const { state, asOf } = progress.input.bundle;
  if (state === null) return pass("there is no state head");
  const proved = proveState(state, found(progress.trustRoots), progress.crypto);
  const newest = proved.head.nextSequence - 1;
  failUnless(newest >= asOf.sequence, `as_of is ${positionText(asOf)}, the state head ends at sequence ${newest}`);
  progress.state = proved;
  const count = `${proved.records.length} records`;
  return pass(`${count} are in the state after sequence ${newest}, which a quorum has signed`);
}

/** Nothing rests on witnesses if the reader demands none. */
function checkWitnesses(progress: Progress): Finding {
  const { checkpoints, state, input } = progress;
  const { trustRoot: newest } = found(progress.trustRoots).newest;
  const missing = whyNotWitnessed(checkpoints, state !== null, newest);
  progress.isWitnessed = missing === null;
  if (missing === null)
    return pass(`${checkpoints.length} trees, each signed by ${newest.witnessQuorum} witnesses or more`);
  failUnless(input.requireWitnessed !== true, `${missing.code}: ${missing.detail}`);
  return pass(`certified, not witnessed: ${missing.detail}`);
}

function checkLeaves(progress: Progress): Finding {
  const { bundle } = progress.input;
  const trees = {
    ofCheckpoints: progress.checkpoints.map(treeOfCheckpoint),
    ofState: progress.state?.trees ?? null,
  };
  progress.proved = proveLeaves(bundle.leaves, trees, progress.crypto.sha256);
  return pass(`${progress.proved.length} leaves lead to their roots`);
}

function checkRanges(progress: Progress): Finding {
  const { bundle } = progress.input;
  const inRanges = proveRanges(bundle.ranges, progress.checkpoints, progress.crypto.sha256);
  progress.leaves = new ProvedLeaves([...progress.proved, ...(progress.state?.records ?? []), ...inRanges]);
  return pass(`${inRanges.length} leaves in ${bundle.ranges.length} ranges make their roots`);
}

function checkSubject(progress: Progress): Finding {
  const { bundle, expect } = progress.input;
  const subject = progress.leaves.find(bundle.subject);
  if (subject === null) throw new BundleFailure(`the subject ${bytesToHex(bundle.subject)} is not in the bundle`);
  const { leaf } = subject;
  const isOld = leaf.sequence <= bundle.asOf.sequence;
  failUnless(isOld, `the subject has sequence ${leaf.sequence}, as_of is ${positionText(bundle.asOf)}`);
  const { anchorId, eventHash } = expect ?? {};
  const isAsked = anchorId === undefined || equalBytes(anchorId, bundle.subject);
  failUnless(isAsked, `the subject is ${bytesToHex(bundle.subject)}, which was not asked about`);
  const own = isEvent(leaf) ? leaf.eventHash : null;
  const isSame = eventHash === undefined || (own !== null && equalBytes(own, eventHash));
  failUnless(isSame, `the subject does not hold the event hash ${bytesToHex(eventHash ?? new Uint8Array(0))}`);
  progress.subject = subject;
  const isCompared = anchorId !== undefined || eventHash !== undefined;
  return pass(
    `kind ${leaf.kind}, sequence ${leaf.sequence}${isCompared ? "" : "; no event hash or id was given to compare"}`,
  );
}

function checkSignatures({ leaves, crypto }: Progress): Finding {
  return pass(`${judgeNestedSignatures(leaves, crypto)} signatures inside of leaves are good`);
}

function checkRecords(progress: Progress): Finding {
  const { leaves, crypto } = progress;
  judgeOrder(leaves, crypto);
  judgeTrustRootLeaves(leaves, found(progress.trustRoots));
  const { state, input } = progress;
  const subject = found(progress.subject);
  const records = state === null ? deriveRecords(leaves, crypto.sha256) : recordsOfState(state);
  const view = viewOf(subject, leaves, records);
  if (state !== null) {
    judgeLineages(state.records);
    const { sequence, acceptedMs } = subject.leaf;
    judgeNewestClaims(view, records, [{ sequence, timeMs: acceptedMs }, input.bundle.asOf]);
  }
  progress.records = records;
  progress.view = view;
  progress.complete =
    state === null ? completenessOf(view, leaves) : completenessOfState(view, state.head.nextSequence);
  return pass(`${view.claims.length} claims and ${view.links.length} grants are named`);
}

function recordsOfState({ records }: ProvedState): BundleRecords {
  return { book: new StateBook(records), orphans: new Set(), usurpers: [] };
}

/** Whether an ending of a record in view can be missing. */
function checkEndings({ complete, input, state }: Progress, ending: "revocation" | "successor"): Finding {
  const { sequence } = input.bundle.asOf;
  if (complete === null) return pass("no claim or grant is named");
  const { after, to } = complete;
  if (state !== null) return pass(`no ${ending} is missing: the state after sequence ${to} has every one`);
  if (to >= sequence) return pass(`no ${ending} is missing: every leaf from sequence ${after} to ${sequence} is here`);
  return notChecked(
    `that no ${ending} is missing is as stated by the service at sequence ${sequence}: the leaf of sequence ` +
      `${to + 1} is not here`,
  );
}

/**
 * Whether the position is consistent: its time is that of its leaf, or lies before the next leaf. A later time would
 * hide what had happened by then.
 */
function checkWindow(progress: Progress): Finding {
  const { asOf } = progress.input.bundle;
  const { sequence, timeMs } = asOf;
  const positions = positionsOf(progress);
  const earlier = positions.filter((each) => each.sequence <= sequence).at(-1);
  const later = positions.find((each) => each.sequence > sequence);
  const isReached = earlier === undefined || earlier.timeMs <= timeMs;
  failUnless(isReached, `as_of is ${positionText(asOf)}, sequence ${earlier?.sequence ?? ""} is younger`);
  const isThere = earlier?.sequence === sequence;
  const isExact = isThere && earlier.timeMs === timeMs;
  // Leaves of one entry have one time: a leaf that is not here may have that of the next.
  const isBeforeNext = later === undefined || timeMs < later.timeMs || (!isThere && timeMs === later.timeMs);
  failUnless(isExact || isBeforeNext, `as_of is ${positionText(asOf)}, sequence ${later?.sequence ?? ""} is older`);
  if (progress.complete === null) return pass("nothing that is named has a window");
  const isProved = isExact || (isThere && later?.sequence === sequence + 1) || isBeforeStamp(progress);
  if (isProved) return pass(`judged as of ${positionText(asOf)}`);
  return notChecked(`that sequence ${sequence} was the newest at ${timeMs} ms is as stated by the service`);
}

/** Positions of leaves, ascending by sequence, and that of the state head. */
function positionsOf({ leaves, state }: Progress): AsOf[] {
  const positions = leaves.bySequence.map(({ leaf }) => ({ sequence: leaf.sequence, timeMs: leaf.acceptedMs }));
  if (state === null) return positions;
  const { nextSequence, lastAcceptedMs } = state.head;
  const newest = { sequence: nextSequence - 1, timeMs: lastAcceptedMs };
  return [...positions.filter(({ sequence }) => sequence < newest.sequence), newest];
}

/** The state head says that no later leaf has a time below its own. */
function isBeforeStamp({ state, input }: Progress): boolean {
  const { sequence, timeMs } = input.bundle.asOf;
  return state !== null && state.head.nextSequence === sequence + 1 && timeMs < state.head.stampMs;
}

function verdictText(verdict: AuthorityVerdict, codes: readonly string[]): string {
  return `${verdict}${codes.length === 0 ? "" : ` (${codes.join(", ")})`}`;
}

function checkAuthority(progress: Progress): Finding {
  const { input, leaves, crypto } = progress;
  const [subject, records, view] = [found(progress.subject), found(progress.records), found(progress.view)];
  const { asOf } = input.bundle;
  const fault = lineageFault(view, records, asOf);
  failUnless(fault === null, fault ?? "");
  const trace = traceBundle({ subject, leaves, records, view, asOf }, crypto);
  progress.trace = trace;
  const codesOf = (verdict: "at_action" | "now"): string[] =>
    trace.reasons.filter((reason) => reason.verdict === verdict).map(({ code }) => code);
  const atAction = verdictText(trace.authorisedAtAction, codesOf("at_action"));
  return pass(
    `at action: ${atAction}; as of sequence ${asOf.sequence}: ${verdictText(trace.authorisedNow, codesOf("now"))}`,
  );
}

function checkStated({ input, trace, complete }: Progress): Finding {
  const { stated, subject, asOf } = input.bundle;
  if (stated === null) {
    const isNeeded = complete !== null && complete.to < asOf.sequence;
    return isNeeded ? notChecked("nothing is stated") : pass("nothing is stated, and nothing rests on it");
  }
  const difference = statedDifference(stated, { subject, asOf, trace: found(trace) });
  failUnless(difference === null, `what is stated differs in ${difference ?? ""} from what the leaves say`);
  return pass("what is stated is what the leaves say");
}

/** Each disclosure is whole, and of a grant on the way. */
function checkScopes(progress: Progress): Finding {
  const { scopes } = progress.input.bundle;
  const grants = found(progress.view).links.flatMap(({ anchorId }) => {
    const leaf = progress.leaves.find(anchorId)?.leaf;
    return leaf?.kind === LEAF_KIND.grant ? [{ anchorId, scopeHash: leaf.scopeHash }] : [];
  });
  progress.scopes = proveScopes(scopes, grants, progress.crypto.sha256);
  if (scopes.length === 0) return pass("nothing of a scope is disclosed");
  const disclosed = progress.scopes.reduce((sum, { statements }) => sum + statements.length, 0);
  const withheld = progress.scopes.reduce((sum, scope) => sum + scope.withheld, 0);
  return pass(`statements in the scopes of grants on the way: ${disclosed} disclosed, ${withheld} withheld`);
}

const STEPS: Readonly<Record<BundleCheckCode, (progress: Progress) => Finding>> = {
  trust_roots: checkTrustRoots,
  checkpoints: checkCheckpoints,
  state: checkState,
  witnesses: checkWitnesses,
  leaves: checkLeaves,
  ranges: checkRanges,
  subject: checkSubject,
  signatures: checkSignatures,
  records: checkRecords,
  revocation: (progress) => checkEndings(progress, "revocation"),
  superseded: (progress) => checkEndings(progress, "successor"),
  window: checkWindow,
  authority: checkAuthority,
  stated: checkStated,
  scopes: checkScopes,
};

function makeChecks(progress: Progress): Check<BundleCheckCode>[] {
  const checks: Check<BundleCheckCode>[] = [];
  let hasFailed = false;
  for (const code of BUNDLE_CHECKS) {
    if (hasFailed) {
      checks.push({ code, ...notChecked("an earlier check failed") });
      continue;
    }
    try {
      checks.push({ code, ...STEPS[code](progress) });
    } catch (error) {
      if (!(error instanceof BundleFailure)) throw error;
      checks.push({ code, result: "fail", detail: error.message });
      hasFailed = true;
    }
  }
  return checks;
}

function outcomeOf(checks: readonly Check<BundleCheckCode>[]): BundleOutcome {
  if (checks.some(({ result }) => result === "fail")) return "invalid";
  return checks.every(({ result }) => result === "pass") ? "valid" : "valid_as_stated";
}

/**
 * Verifies a bundle. `valid` means that its verdicts are correct, not that they are "true": it can prove that an act
 * was not authorised as well as that one was.
 */
export function verifyBundle(input: BundleInput, crypto: Crypto): BundleVerification {
  const progress: Progress = {
    input,
    crypto: rememberVerdicts(crypto),
    trustRoots: null,
    checkpoints: [],
    state: null,
    isWitnessed: false,
    proved: [],
    leaves: new ProvedLeaves([]),
    subject: null,
    records: null,
    view: null,
    complete: null,
    trace: null,
    scopes: [],
  };
  const checks = makeChecks(progress);
  const outcome = outcomeOf(checks);
  const trace = outcome === "invalid" ? null : progress.trace;
  const version = progress.trustRoots?.newest.trustRoot.version;
  return {
    outcome,
    checks,
    subject: input.bundle.subject,
    asOf: input.bundle.asOf,
    actorProven: trace?.isActorProven ?? false,
    authorisedAtAction: trace?.authorisedAtAction ?? "unknown",
    authorisedNow: trace?.authorisedNow ?? "unknown",
    standing:
      trace === null ? null : standingOf(trace.leaf, found(progress.view), found(progress.records), input.bundle.asOf),
    complete: outcome === "invalid" ? null : progress.complete,
    leaf: trace?.leaf ?? null,
    trace,
    witnessed: outcome !== "invalid" && progress.isWitnessed,
    scopes: outcome === "invalid" ? [] : progress.scopes,
    trustRoot: version === undefined ? null : { version, superseded: supersededOf(progress) },
  };
}
