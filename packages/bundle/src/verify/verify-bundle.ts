/** Judges a bundle offline. docs/PROTOCOL.md, "Bundle". */
import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { AnchorId, Crypto, Leaf, TrustRootChain } from "@event-anchoring/protocol";
import type { AuthorityVerdict, AsOf, Check, CheckResult, Trace } from "@event-anchoring/records";
import type { Bundle } from "../format/bundle.ts";
import { BundleFailure, failUnless } from "./bundle-failure.ts";
import { proveCheckpoints, proveLeaves, proveRanges } from "./proved-leaves.ts";
import type { ProvedLeaf } from "./proved-leaves.ts";
import {
  ProvedLeaves,
  completenessOf,
  deriveRecords,
  judgeNestedSignatures,
  judgeOrder,
  judgeTrustRootLeaves,
  lineageFault,
  viewOf,
} from "./bundle-records.ts";
import type { BundleRecords, BundleView, Completeness } from "./bundle-records.ts";
import { statedDifference } from "./stated-trace.ts";
import { traceBundle } from "./bundle-trace.ts";
import { judgeTrustRoots } from "./bundle-trust.ts";
import type { BundleTrust, HighestSeen } from "./bundle-trust.ts";
import { rememberVerdicts, isEvent } from "@event-anchoring/records";

/** In the order in which they are made. After one that fails nothing more is checked. */
export const BUNDLE_CHECKS = [
  "trust_roots",
  "checkpoints",
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
  /**
   * How far it is proved that no ending is missing; null: nothing can end, or the check was not reached. If `to` is not
   * below the sequence of the subject, the verdict at the action is proved, whatever the outcome.
   */
  readonly complete: Completeness | null;
  /** The leaf of the subject; null if the bundle is invalid. */
  readonly leaf: Leaf | null;
  /** Null if the bundle is invalid. Its `possibleParents` are those among the leaves of the bundle. */
  readonly trace: Trace | null;
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
  proved: ProvedLeaf[];
  leaves: ProvedLeaves;
  subject: ProvedLeaf | null;
  records: BundleRecords | null;
  view: BundleView | null;
  complete: Completeness | null;
  trace: Trace | null;
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

/** The oldest version that alone satisfies a checkpoint; null: the newest satisfies all. */
function supersededOf({ checkpoints }: Progress): number | null {
  const versions = checkpoints.flatMap(({ supersededTrustRoot }) => supersededTrustRoot ?? []);
  return versions.length === 0 ? null : Math.min(...versions);
}

function checkCheckpoints(progress: Progress): Finding {
  const { bundle } = progress.input;
  progress.checkpoints = proveCheckpoints(bundle.checkpoints, found(progress.trustRoots), progress.crypto);
  const superseded = supersededOf(progress);
  const older = superseded === null ? "" : `; one satisfies only trust root ${superseded}, which is superseded`;
  return pass(`${progress.checkpoints.length} trees, each cosigned by a quorum${older}`);
}

function checkLeaves(progress: Progress): Finding {
  const { bundle } = progress.input;
  progress.proved = proveLeaves(bundle.leaves, progress.checkpoints, progress.crypto.sha256);
  return pass(`${progress.proved.length} leaves lead to their roots`);
}

function checkRanges(progress: Progress): Finding {
  const { bundle } = progress.input;
  const inRanges = proveRanges(bundle.ranges, progress.checkpoints, progress.crypto.sha256);
  progress.leaves = new ProvedLeaves([...progress.proved, ...inRanges]);
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
  const records = deriveRecords(leaves, crypto.sha256);
  const view = viewOf(found(progress.subject), leaves, records);
  progress.records = records;
  progress.view = view;
  progress.complete = completenessOf(view, leaves);
  return pass(`${view.claims.length} claims and ${view.links.length} grants are named`);
}

/** Whether an ending of a record in view can be missing. */
function checkEndings({ complete, input }: Progress, ending: "revocation" | "successor"): Finding {
  const { sequence } = input.bundle.asOf;
  if (complete === null) return pass("no claim or grant is named");
  const { after, to } = complete;
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
function checkWindow({ leaves, input, complete }: Progress): Finding {
  const { asOf } = input.bundle;
  const { sequence, timeMs } = asOf;
  const earlier = leaves.bySequence.filter(({ leaf }) => leaf.sequence <= sequence).at(-1)?.leaf;
  const later = leaves.bySequence.find(({ leaf }) => leaf.sequence > sequence)?.leaf;
  const isReached = earlier === undefined || earlier.acceptedMs <= timeMs;
  failUnless(isReached, `as_of is ${positionText(asOf)}, sequence ${earlier?.sequence ?? ""} is younger`);
  const isThere = earlier?.sequence === sequence;
  const isExact = isThere && earlier.acceptedMs === timeMs;
  // Leaves of one entry have one time: a leaf that is not here may have that of the next.
  const isBeforeNext = later === undefined || timeMs < later.acceptedMs || (!isThere && timeMs === later.acceptedMs);
  failUnless(isExact || isBeforeNext, `as_of is ${positionText(asOf)}, sequence ${later?.sequence ?? ""} is older`);
  if (complete === null) return pass("nothing that is named has a window");
  if (isExact || (isThere && later?.sequence === sequence + 1)) return pass(`judged as of ${positionText(asOf)}`);
  return notChecked(`that sequence ${sequence} was the newest at ${timeMs} ms is as stated by the service`);
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

const STEPS: Readonly<Record<BundleCheckCode, (progress: Progress) => Finding>> = {
  trust_roots: checkTrustRoots,
  checkpoints: checkCheckpoints,
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
    proved: [],
    leaves: new ProvedLeaves([]),
    subject: null,
    records: null,
    view: null,
    complete: null,
    trace: null,
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
    complete: outcome === "invalid" ? null : progress.complete,
    leaf: trace?.leaf ?? null,
    trace,
    trustRoot: version === undefined ? null : { version, superseded: supersededOf(progress) },
  };
}
