/** Traces the subject of a bundle over its leaves. */
import { LEAF_KIND, bytesToHex, isZero } from "@event-anchoring/protocol";
import type { Crypto } from "@event-anchoring/protocol";
import { BundleFailure } from "./bundle-failure.ts";
import type { ProvedLeaf } from "./proved-leaves.ts";
import type { BundleRecords, BundleView, ProvedLeaves } from "./bundle-records.ts";
import type { AsOf, AnchorFact, Trace, ViolationCode } from "@event-anchoring/records";
import {
  DelegationJudge,
  REFERENCE_RULES,
  LeafRows,
  recordsInView,
  targetsInView,
  traceEvent,
  TRACE_LIMITS,
  isEvent,
} from "@event-anchoring/records";

export interface BundleToTrace {
  readonly subject: ProvedLeaf;
  readonly leaves: ProvedLeaves;
  readonly records: BundleRecords;
  readonly view: BundleView;
  readonly asOf: AsOf;
}

/** Violations that a ledger records, since authors may state what is not true; a ledger accepts no other violation. */
const RECORDED: ReadonlySet<ViolationCode> = new Set(["actor_key_mismatch"]);

/** The anchors that the subject names, by the hex of their ids. */
function referencesOf({ leaf }: ProvedLeaf, leaves: ProvedLeaves): Map<string, AnchorFact> {
  const facts = new Map<string, AnchorFact>();
  if (!isEvent(leaf)) return facts;
  for (const { field } of REFERENCE_RULES) {
    const found = isZero(leaf.semanticAnchor[field]) ? null : leaves.find(leaf.semanticAnchor[field]);
    if (found !== null) facts.set(bytesToHex(found.anchorId), found.leaf);
  }
  return facts;
}

/** Revocations up to a position of records with these sequences. */
function revocationsOf(targets: readonly number[], { leaves, asOf }: BundleToTrace): ProvedLeaf[] {
  const wanted = new Set(targets);
  return leaves.bySequence.filter(({ leaf }) => {
    if (leaf.kind !== LEAF_KIND.revocation || leaf.sequence > asOf.sequence) return false;
    const target = leaves.find(leaf.targetAnchorId);
    return target !== null && wanted.has(target.leaf.sequence);
  });
}

/** The leaf before the subject in its origin, if it is in the bundle. */
function parentOf({ leaf }: ProvedLeaf, leaves: ProvedLeaves): ProvedLeaf | null {
  return isZero(leaf.parentAnchorId) ? null : leaves.find(leaf.parentAnchorId);
}

/** Every link, including those beyond what a trace shows. @throws BundleFailure */
function judgeLinks({ view, records, asOf }: BundleToTrace, rows: LeafRows, crypto: Crypto): void {
  const judge = new DelegationJudge(records.book, rows, asOf, crypto);
  for (const link of view.links) {
    const [fault] = judge.linkFaults(link);
    if (fault !== undefined) throw new BundleFailure(`${fault.code}: ${fault.detail}`);
  }
}

/**
 * Traces the subject. The anchor before it may be missing: a bundle need not hold it.
 * @throws BundleFailure for what no ledger would have accepted
 */
export function traceBundle(input: BundleToTrace, crypto: Crypto): Trace {
  const { subject, leaves, records, view, asOf } = input;
  const { book } = records;
  const position = { sequence: subject.leaf.sequence, timeMs: subject.leaf.acceptedMs };
  const shown = {
    claims: view.iris === null ? [] : [view.iris],
    grants: view.links.slice(0, 1),
  };
  const inView = recordsInView(shown, book, [asOf, position], TRACE_LIMITS.delegationMax);
  const all = leaves.bySequence;
  judgeLinks(input, new LeafRows(all, crypto.sha256), crypto);
  const root = view.links.at(-1);
  const before = parentOf(subject, leaves);
  const trace = traceEvent(
    {
      anchor: subject,
      references: referencesOf(subject, leaves),
      parents: [],
      beforeParents: before,
      asOf,
      records: book,
      leaves: all,
      revocations: revocationsOf(targetsInView(inView), input),
      trustedRoots: null,
      possibleParents: {
        grants: book.addedGrants().filter(({ granteeLineage, sequence }) => {
          return granteeLineage === root?.grantorLineage && !records.orphans.has(sequence);
        }),
        records: book,
      },
    },
    crypto,
  );
  const violations = trace.violations.filter(({ code }) => code !== "parent_link_broken" || before !== null);
  const broken = violations.find(({ code }) => !RECORDED.has(code));
  if (broken !== undefined) throw new BundleFailure(`${broken.code}: ${broken.detail}`);
  if (trace.reasons.some(({ code }) => code === "records_not_loaded"))
    throw new BundleFailure("a record that decides is not in the bundle");
  return { ...trace, violations };
}
