/** A trace as a tree in the terminal: the root of the delegation on top, the act at the end. */
import type { Trace } from "@event-anchoring/sdk";
import { boundaryText, hopsText, named, reasonText, short, shownVerdict } from "@event-anchoring/verdicts";
import type { Mark, Names } from "@event-anchoring/verdicts";
import type { Printer } from "../terminal/printer.ts";
import type { ShownClaim, ShownHop, ShownTrace } from "../service/trace-answer.ts";

const NO_NAMES: Names = new Map();
/** Longer chains show both ends. */
const HOPS_SHOWN_MAX = 8;
const HOPS_SHOWN_AT_EACH_END = 3;

function stateMark(state: string | null): Mark {
  return state === null ? "skip" : state === "active" ? "pass" : "fail";
}

/** Who delegated to whom, down to the act. */
export function printTree(printer: Printer, trace: ShownTrace, names: Names = NO_NAMES): void {
  const hops = trace.delegation.toReversed();
  const root = hops[0];
  let level = 0;
  if (trace.delegationOmitted > 0) printer.leaf(level, "skip", `… ${trace.delegationOmitted} grants above`);
  if (root !== undefined) printer.leaf(level, stateMark(root.grantorClaim.state), claimText(root.grantorClaim, names));
  for (const shown of ends(hops)) {
    level += 1;
    if (typeof shown === "number") {
      printer.leaf(level, "skip", `… ${shown} grants`);
      continue;
    }
    printer.leaf(level, stateMark(shown.grant.state), grantText(shown, names));
    level += 1;
    printer.leaf(level, stateMark(shown.granteeClaim.state), claimText(shown.granteeClaim, names));
  }
  const grantee = trace.delegation[0]?.granteeClaim.anchorId ?? null;
  const { claim, state } = trace.actor;
  if (claim !== null && claim.anchorId !== grantee) {
    level += level === 0 && root === undefined ? 0 : 1;
    printer.leaf(level, stateMark(state), `${claimText({ ...claim, state }, names)}, the actor`);
  }
  // A grant that is itself traced is in the tree already.
  if (trace.delegation[0]?.grant.anchorId === trace.anchor.anchorId) return;
  const isAlone = root === undefined && claim === null && trace.delegationOmitted === 0;
  const { mark } = shownVerdict(trace.authorisedAtAction, trace.actorProven);
  printer.leaf(isAlone ? 0 : level + 1, mark, actText(trace, names));
}

/** All hops, or those at both ends and how many lie between. */
function ends(hops: readonly ShownHop[]): readonly (ShownHop | number)[] {
  if (hops.length <= HOPS_SHOWN_MAX) return hops;
  const between = hops.length - 2 * HOPS_SHOWN_AT_EACH_END;
  return [...hops.slice(0, HOPS_SHOWN_AT_EACH_END), between, ...hops.slice(-HOPS_SHOWN_AT_EACH_END)];
}

/** A claim is called by its own name, else that of its entity, else that of its key. */
function claimText({ anchorId, state, entityFingerprint, subjectPublicKey }: ShownClaim, names: Names): string {
  const known = [anchorId, entityFingerprint, subjectPublicKey].flatMap((hex) => names.get(hex ?? "") ?? []);
  return `${known[0] ?? "claim"} ${short(anchorId)}  ${state ?? ""}`.trimEnd();
}

function grantText({ grant, witnessPublicKey, witnessIsGrantee }: ShownHop, names: Names): string {
  const witness = witnessIsGrantee ? "witnessed by the grantee" : `witness ${named(witnessPublicKey, names)}`;
  const hops = hopsText(grant.delegationDepth);
  return `${named(grant.anchorId, names, "grant")}  ${grant.state ?? ""}, ${hops}, ${witness}`;
}

const SIGNATURE_TEXTS: Readonly<Record<Trace["actor"]["actorSignature"], string>> = {
  pass: "signed by the actor",
  fail: "the actor's signature does not hold",
  not_checked: "not signed",
};

/** Only events are judged. */
function isAct({ anchor }: ShownTrace): boolean {
  return anchor.kind === "event" || anchor.kind === "signed_event";
}

function actText(trace: ShownTrace, names: Names): string {
  const { anchor, actor } = trace;
  const signed = isAct(trace) ? `, ${SIGNATURE_TEXTS[actor.actorSignature]}` : "";
  const kind = anchor.kind === "signed_event" ? "event" : anchor.kind.replace("_", " ");
  return `${named(anchor.anchorId, names, kind)}  ${anchor.acceptedAt}, sequence ${anchor.sequence}${signed}`;
}

/** The verdicts with their reasons, the boundary, and all that speaks against the record. */
export function printFindings(printer: Printer, trace: ShownTrace, names: Names = NO_NAMES): void {
  if (isAct(trace)) {
    printer.check(trace.actorProven ? "pass" : "warn", "actor", actorText(trace));
    printVerdict(printer, "at action", trace, "at_action", names);
    printVerdict(printer, "now", trace, "now", names);
  }
  if (trace.boundary !== null) printer.check("skip", "boundary", boundaryText(trace.boundary, names));
  if (trace.rootAuthority !== "not_checked") {
    const isTrusted = trace.rootAuthority === "pass";
    const text = isTrusted ? "the root grant is by a trusted claim" : "the root grant is by none of the trusted claims";
    printer.check(isTrusted ? "pass" : "fail", "root", text);
  }
  for (const revocation of trace.revocations) {
    const { anchor, targetAnchorId, beforeAction } = revocation;
    const { reason, authority, acceptedAt, sequence } = anchor;
    const when = `${beforeAction ? "before" : "after"} ${isAct(trace) ? "the act" : "it"}`;
    const text = `${named(targetAnchorId, names)} by ${authority}, ${reason}, ${acceptedAt}, sequence ${sequence}`;
    printer.check("warn", "revoked", `${text}, ${when}`);
  }
  if (trace.suspect) printer.check("warn", "suspect", "a revocation says that acts of that time are suspect");
  for (const { code, anchorId, detail } of trace.violations) {
    printer.check("fail", "violation", `${named(anchorId, names)}: ${detail} (${code})`);
  }
}

function actorText({ actorProven, actor }: ShownTrace): string {
  const { actorSignature, claim } = actor;
  if (actorProven) return "proven: signed with the key of the actor's claim";
  if (actorSignature === "fail") return "not proven: the signature is not the actor's";
  if (claim === null && actorSignature === "pass") return "not proven: signed, and no claim says whose key that is";
  return "not proven: the event is unsigned, so only the API client that recorded it says who acted";
}

function printVerdict(
  printer: Printer,
  label: string,
  trace: ShownTrace,
  verdict: "at_action" | "now",
  names: Names,
): void {
  const value = verdict === "at_action" ? trace.authorisedAtAction : trace.authorisedNow;
  const { mark, text } = shownVerdict(value, trace.actorProven);
  const reasons = trace.reasons.filter((reason) => reason.verdict === verdict).map((it) => reasonText(it, names));
  printer.check(mark, label, `${text}${reasons[0] === undefined ? "" : `, ${reasons[0]}`}`);
  for (const reason of reasons.slice(1)) printer.check(mark, "", reason);
}
