/** Verifies one grant and the delegation that it depends on, over loaded rows. docs/PROTOCOL.md, "Verifying". */
import { LEAF_KIND, bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { Crypto, GrantLeaf } from "@event-anchoring/protocol";
import { MALFORMED, checkAnchor, deciding, informing, unmade } from "./anchor-checks.ts";
import type { AnchorEvidence } from "./anchor-checks.ts";
import { RecordStates, chainOf, linkForceAt } from "../force/chain-force.ts";
import type { GrantChain } from "../force/chain-force.ts";
import { conclude } from "./checks.ts";
import type { AsOf } from "../book/as-of.ts";
import type { CheckResult, WeighedCheck } from "./checks.ts";
import { DelegationJudge, parentLinkFault } from "./delegation.ts";
import type { DelegationFault } from "./delegation.ts";
import type { ForceFault, GrantForce, RecordState } from "../force/in-force.ts";
import { LeafRows } from "./leaf-rows.ts";
import { checkRevocation, checkSuperseded, checkWindow } from "./record-checks.ts";
import type { ClaimRecord, GrantRecord, Records } from "../book/records.ts";
import { grantSignatures } from "../book/signatures.ts";
import type { SignatureToVerify } from "../book/signatures.ts";
import { traceDelegation } from "./traced-delegation.ts";
import type { TracedDelegation } from "./traced-delegation.ts";
import { checkSignature } from "./verify-claim.ts";
import type { RecordEvidence, RecordVerification } from "./verify-claim.ts";

/** In the order in which they are reported. All decide; `root_authority` only if trusted roots were given. */
export const GRANT_CHECKS = [
  "exists",
  "grantor_signature",
  "witness_signature",
  "delegation_chain",
  "grantor_claim",
  "grantee_claim",
  "leaf",
  "parent",
  "inclusion",
  "certificate",
  "revocation",
  "superseded",
  "window",
  "root_authority",
] as const;

export type GrantCheckCode = (typeof GRANT_CHECKS)[number];

export interface GrantVerificationInput extends AnchorEvidence, RecordEvidence {
  /** Claims whose lineages the caller trusts to grant without a parent; null: not asked. */
  readonly trustedRoots: readonly ClaimRecord[] | null;
}

export interface GrantVerification extends RecordVerification<GrantCheckCode> {
  /** Empty if the record is not known. */
  readonly delegation: TracedDelegation;
}

type GrantCheck = WeighedCheck<GrantCheckCode>;

const NO_DELEGATION: TracedDelegation = { hops: [], omitted: 0 };

/** Why checks were not made: records are missing. */
const RECORDS_NOT_LOADED = "records_not_loaded";

/** Whether a chain begins with a trusted claim. */
export function rootAuthorityOf(
  chain: GrantChain,
  trustedRoots: readonly ClaimRecord[] | null,
): { readonly result: CheckResult; readonly detail: string } {
  if (trustedRoots === null) return { result: "not_checked", detail: "no trusted roots were given" };
  const root = chain.links.at(-1);
  if (root === undefined || !chain.isComplete) return { result: "not_checked", detail: RECORDS_NOT_LOADED };
  const trusted = trustedRoots.find(({ lineage }) => lineage === root.grantorLineage);
  const detail = `the root grant of sequence ${root.sequence} is by lineage ${root.grantorLineage}`;
  return { result: trusted === undefined ? "fail" : "pass", detail };
}

function checkRootAuthority(chain: GrantChain, trustedRoots: readonly ClaimRecord[] | null): GrantCheck {
  const code = "root_authority";
  const { result, detail } = rootAuthorityOf(chain, trustedRoots);
  if (result === "not_checked") return trustedRoots === null ? informing(code, result, detail) : unmade(code, detail);
  return deciding(code, result === "pass", detail);
}

function forceText({ code, anchorId, sequence }: ForceFault): string {
  return `${code}: ${bytesToHex(anchorId)}${sequence === null ? "" : ` at sequence ${sequence}`}`;
}

function faultText({ code, detail }: DelegationFault): string {
  return `${code}: ${detail}`;
}

/** The claim that the grant names on one side. */
function checkParty(
  side: "grantor" | "grantee",
  grant: GrantRecord,
  force: GrantForce,
  fault: DelegationFault | null,
  records: Records,
): GrantCheck {
  const code = `${side}_claim` as const;
  if (fault !== null) return deciding(code, false, faultText(fault));
  const ended = force.faults.find((each) => each.code.startsWith(`${side}_`));
  if (ended !== undefined) return deciding(code, false, forceText(ended));
  const claim = records.claim(side === "grantor" ? grant.grantorClaim : grant.granteeClaim);
  if (claim === null || !force.isComplete) return unmade(code, RECORDS_NOT_LOADED);
  return deciding(code, true, `${bytesToHex(claim.anchorId)} of lineage ${claim.lineage}`);
}

/** Every grant above this one, and how each follows from the one above it. */
function checkChain(chain: GrantChain, judge: DelegationJudge, records: Records, at: AsOf): GrantCheck {
  const code = "delegation_chain";
  const [grant, ...ancestors] = chain.links;
  const broken = grant === undefined ? null : parentLinkFault(grant, records);
  if (broken !== null) return deciding(code, false, faultText(broken));
  let { isComplete } = chain;
  for (const link of ancestors) {
    const [fault] = judge.linkFaults(link);
    if (fault !== undefined) return deciding(code, false, faultText(fault));
    const force = linkForceAt(link, at, records);
    const [ended] = force.faults;
    if (ended !== undefined)
      return deciding(code, false, `grant of sequence ${link.sequence} is not in force: ${forceText(ended)}`);
    isComplete &&= force.isComplete;
  }
  if (!isComplete) return unmade(code, RECORDS_NOT_LOADED);
  const root = chain.links.at(-1);
  const links = chain.links.length;
  return deciding(code, true, links === 1 ? "a root grant" : `${links} grants to root ${root?.sequence ?? ""}`);
}

type Revocable = readonly [what: string, record: ClaimRecord | GrantRecord | null];

/** The records whose revocation ends a link: its claims as it names them, and the newest of their lineages. */
function revocablesOf(link: GrantRecord, records: Records, at: AsOf): Revocable[] {
  const sides = (["grantor", "grantee"] as const).flatMap((side): Revocable[] => [
    [`the claim of its ${side}`, records.claim(link[`${side}Claim`])],
    [`the newest claim of its ${side}`, records.newestClaimOf(link[`${side}Lineage`], at.sequence)],
  ]);
  return [["the grant", link], ...sides];
}

/** A grant is revoked with any record that it depends on: its own revocation first, then those from it to the root. */
function checkRevocationOfAll(chain: GrantChain, own: GrantCheck, records: Records, at: AsOf): GrantCheck {
  if (own.check.result !== "pass") return own;
  const code = "revocation";
  let isComplete = chain.isComplete;
  for (const link of chain.links) {
    for (const [what, record] of revocablesOf(link, records, at)) {
      isComplete &&= record !== null;
      if (record === null || record.revokedAt === null || record.revokedAt > at.sequence) continue;
      const of = `${what}, ${bytesToHex(record.anchorId)}, is revoked at sequence ${record.revokedAt}`;
      const where = link === chain.links[0] ? "" : `, in the grant of sequence ${link.sequence} above it`;
      return deciding(code, false, `${of}${where}`);
    }
  }
  return isComplete ? own : unmade(code, RECORDS_NOT_LOADED);
}

interface RecordChecks {
  /** The checks of the chain and the claims. */
  readonly parties: readonly GrantCheck[];
  readonly endings: readonly GrantCheck[];
  readonly rootAuthority: GrantCheck;
  /** Why the record is not trusted. */
  readonly fault: string | null;
  readonly state: RecordState | null;
  readonly delegation: TracedDelegation;
}

/** Nothing that needs the record was checked. */
function uncheckedRecord(detail: string, fault: string | null): RecordChecks {
  return {
    parties: [unmade("delegation_chain", detail), unmade("grantor_claim", detail), unmade("grantee_claim", detail)],
    endings: [unmade("revocation", detail), unmade("superseded", detail), unmade("window", detail)],
    rootAuthority: unmade("root_authority", detail),
    fault,
    state: null,
    delegation: NO_DELEGATION,
  };
}

function checkRecord(leaf: GrantLeaf, input: GrantVerificationInput, crypto: Crypto): RecordChecks {
  const { records, asOf, trustedRoots } = input;
  const record = records.grant(leaf.sequence);
  if (record === null) return uncheckedRecord(RECORDS_NOT_LOADED, null);
  const leaves = new LeafRows(
    [...input.leaves, { anchorId: input.anchorId, bytes: input.receipt.leaf }],
    crypto.sha256,
  );
  const judge = new DelegationJudge(records, leaves, asOf, crypto);
  const { fault } = judge.grantRecord(record);
  if (fault !== null) return uncheckedRecord(fault, fault);
  const chain = chainOf(record, records);
  const force = linkForceAt(record, asOf, records);
  return {
    parties: [
      checkChain(chain, judge, records, asOf),
      checkParty("grantor", record, force, judge.grantorClaimFault(record), records),
      checkParty("grantee", record, force, judge.granteeClaimFault(record), records),
    ],
    endings: [
      checkRevocationOfAll(
        chain,
        checkRevocation(record, new LeafRows(input.revocations, crypto.sha256), asOf),
        records,
        asOf,
      ),
      checkSuperseded(record.supersededAt, asOf),
      checkWindow(record, asOf),
    ],
    rootAuthority: checkRootAuthority(chain, trustedRoots),
    fault: null,
    state: new RecordStates(records, asOf).grant(record),
    delegation: traceDelegation(record, { records, leaves }, asOf),
  };
}

/** The witness has signed, and is not the grantor. */
function checkWitness(leaf: GrantLeaf, toVerify: SignatureToVerify | undefined, crypto: Crypto): GrantCheck {
  const code = "witness_signature";
  if (equalBytes(leaf.witnessPublicKey, leaf.grantorPublicKey))
    return deciding(code, false, "the witness is the grantor");
  return checkSignature(code, toVerify, crypto);
}

/**
 * Verifies a grant as of a position: that its parties have signed it, that it is anchored, that nothing has ended it,
 * and that the claims and grants it depends on are good as well. A record that contradicts the leaf fails `leaf`.
 */
export function verifyGrant(input: GrantVerificationInput, crypto: Crypto): GrantVerification {
  const { leaf, checks } = checkAnchor(input, crypto);
  if (leaf?.kind !== LEAF_KIND.grant) {
    const detail = leaf === null ? MALFORMED : `a leaf of kind ${leaf.kind} is no grant`;
    const isLeaf = leaf === null ? checks.leaf : deciding<GrantCheckCode>("leaf", false, detail);
    const all = GRANT_CHECKS.map((code): GrantCheck => (code === "leaf" ? isLeaf : unmade(code, detail)));
    return { ...conclude(all), state: null, delegation: NO_DELEGATION };
  }
  const [ofGrantor, ofWitness] = grantSignatures(leaf, crypto.sha256);
  const record = checkRecord(leaf, input, crypto);
  const result = conclude<GrantCheckCode>([
    checks.exists,
    checkSignature("grantor_signature", ofGrantor, crypto),
    checkWitness(leaf, ofWitness, crypto),
    ...record.parties,
    record.fault === null ? checks.leaf : deciding<GrantCheckCode>("leaf", false, record.fault),
    checks.parent,
    checks.inclusion,
    checks.certificate,
    ...record.endings,
    record.rootAuthority,
  ]);
  return { ...result, state: record.state, delegation: record.delegation };
}
