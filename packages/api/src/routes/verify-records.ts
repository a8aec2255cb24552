import { LIMITS, parseBody, verifyClaimSchema, verifyGrantSchema } from "@event-anchoring/api-contract";
import type {
  VerifiedAnswer,
  VerifiedClaimAnswer,
  VerifiedGrantAnswer,
  VerifyClaimRequest,
} from "@event-anchoring/api-contract";
import { verifyClaim, verifyGrant } from "@event-anchoring/records";
import type { AnchorEvidence, AsOf, Check, Records, RecordsInView } from "@event-anchoring/records";
import { LEAF_KIND, bytesToHex, decodeLeaf } from "@event-anchoring/protocol";
import type { AnchorId, LeafKind } from "@event-anchoring/protocol";
import type { StoredAnchor } from "@event-anchoring/store";
import { assertProved, proveAnchors, receiptAnswer, storedAnchorToJson } from "../reading/anchor-view.ts";
import type { ProvedAnchor } from "../reading/anchor-view.ts";
import { asOfAnswer } from "../reading/as-of.ts";
import type { ConsistentRead } from "../reading/consistent-read.ts";
import { delegationToJson, hopsOf, revocationsToJson } from "../reading/delegation-view.ts";
import { beginJudgedRead } from "../reading/judged-read.ts";
import type { JudgedRead } from "../reading/judged-read.ts";
import { foundAmong, loadEvidence, loadRecords, statesAt, trustedClaims } from "../reading/load-records.ts";
import type { LoadedEvidence, StateOf } from "../reading/load-records.ts";
import { rememberingCrypto, verifyAhead } from "../reading/verdicts.ts";
import { parsed, problemError } from "../request/problem-error.ts";
import { bodyTextOf, callerOf } from "./handler.ts";
import type { HandlerRequest, ReadDependencies, ReadHandler } from "./handler.ts";
import { proofMember } from "./proof-member.ts";

/** One claim or grant, with everything that its verification needs. */
interface RecordToVerify {
  readonly read: ConsistentRead;
  readonly asOf: AsOf;
  readonly proved: ProvedAnchor;
  readonly stateOf: StateOf;
  readonly anchor: AnchorEvidence;
  readonly evidence: LoadedEvidence;
}

function shownRecords(anchor: StoredAnchor, records: Records): RecordsInView {
  const claim = anchor.kind === LEAF_KIND.claim ? records.claim(anchor.sequence) : null;
  const grant = anchor.kind === LEAF_KIND.grant ? records.grant(anchor.sequence) : null;
  return { claims: claim === null ? [] : [claim], grants: grant === null ? [] : [grant] };
}

/** The anchor that is asked about. @throws ProblemError `anchor_not_found`, `wrong_kind` */
function targetOf({ anchors }: JudgedRead, anchorId: AnchorId, kind: LeafKind): StoredAnchor {
  const anchor = anchors.get(bytesToHex(anchorId));
  if (anchor === undefined) throw problemError("anchor_not_found");
  if (anchor.kind !== kind) throw problemError("wrong_kind");
  return anchor;
}

async function loadParent(read: ConsistentRead, anchor: StoredAnchor): Promise<StoredAnchor | null> {
  if (anchor.depth === 0) return null;
  const { anchors } = await read.select((reads) => reads.anchors([decodeLeaf(anchor.bytes).parentAnchorId]));
  return anchors[0] ?? null;
}

/** @param others anchors whose records are needed as well */
async function loadRecordToVerify(
  request: HandlerRequest,
  dependencies: ReadDependencies,
  judged: JudgedRead,
  anchor: StoredAnchor,
  others: readonly StoredAnchor[] = [],
): Promise<RecordToVerify> {
  const { read, asOf } = judged;
  const crypto = rememberingCrypto(dependencies.crypto);
  const loadRows = async (): Promise<LoadedEvidence> => {
    const records = await loadRecords(read, [anchor, ...others], [asOf]);
    const options = { at: asOf, positions: [asOf], hopsMax: LIMITS.delegationLinksMax };
    const evidence = await loadEvidence(read, shownRecords(anchor, records), records, options);
    await verifyAhead(evidence.leaves, crypto, request.deadline);
    return evidence;
  };
  const [trustRoots, parent, [each], evidence] = await Promise.all([
    dependencies.trustRoots.chain(read),
    loadParent(read, anchor),
    proveAnchors(read, [anchor], crypto.sha256),
    loadRows(),
  ]);
  const proved = await assertProved(read, anchor, each);
  return {
    read,
    asOf,
    proved,
    stateOf: statesAt(evidence.records, asOf),
    anchor: { anchorId: anchor.anchorId, receipt: proved.receipt, parent, asOf, trustRoots },
    evidence,
  };
}

function verifiedJson(
  record: RecordToVerify,
  { valid, checks }: { readonly valid: boolean; readonly checks: readonly Check[] },
  request: HandlerRequest,
  { crypto }: ReadDependencies,
): VerifiedAnswer & Pick<VerifiedClaimAnswer, "state" | "revocations"> {
  const { read, asOf, proved, evidence, stateOf } = record;
  const { anchor, receipt, certificate } = proved;
  const state = stateOf(anchor);
  if (state === null) throw new Error("a claim or a grant has a state");
  return {
    valid,
    as_of: asOfAnswer(asOf),
    state,
    checks: checks.map((check) => ({ ...check })),
    anchor: storedAnchorToJson(anchor, { finality: "certified", caller: callerOf(request), state }),
    receipt: receiptAnswer(receipt, certificate, crypto.sha256),
    revocations: revocationsToJson(read, evidence.revocations),
  };
}

/** The proof of the verdicts on the record, if the request asks for one. */
function proofOf(
  { proved, asOf }: RecordToVerify,
  { state }: Pick<VerifiedClaimAnswer, "state">,
  request: HandlerRequest,
  dependencies: ReadDependencies,
): ReturnType<typeof proofMember> {
  const { anchor } = proved;
  return proofMember(request, dependencies, { anchor, asOf }, ({ standing }) => standing?.state === state);
}

/** POST /v1/claim-anchors:verify */
export const verifyClaimAnchor: ReadHandler = async (request, dependencies) => {
  const { anchorId, asOf }: VerifyClaimRequest = parsed(parseBody(verifyClaimSchema, bodyTextOf(request)));
  const judged = await beginJudgedRead(request, dependencies, [anchorId], asOf);
  const target = targetOf(judged, anchorId, LEAF_KIND.claim);
  const record = await loadRecordToVerify(request, dependencies, judged, target);
  const result = verifyClaim({ ...record.anchor, ...record.evidence }, rememberingCrypto(dependencies.crypto));
  const verified = verifiedJson(record, result, request, dependencies);
  const json: VerifiedClaimAnswer = { ...verified, ...(await proofOf(record, verified, request, dependencies)) };
  return { status: 200, json };
};

/** POST /v1/grant-anchors:verify */
export const verifyGrantAnchor: ReadHandler = async (request, dependencies) => {
  const { anchorId, asOf, trustedRoots } = parsed(parseBody(verifyGrantSchema, bodyTextOf(request)));
  const judged = await beginJudgedRead(request, dependencies, [anchorId, ...(trustedRoots ?? [])], asOf);
  const target = targetOf(judged, anchorId, LEAF_KIND.grant);
  const others = foundAmong(judged.anchors, trustedRoots);
  const record = await loadRecordToVerify(request, dependencies, judged, target, others);
  const { evidence, read } = record;
  const { records } = evidence;
  const crypto = rememberingCrypto(dependencies.crypto);
  const trusted = trustedClaims(trustedRoots, judged.anchors, records);
  const result = verifyGrant({ ...record.anchor, ...evidence, trustedRoots: trusted }, crypto);
  const { delegation, delegation_omitted } = delegationToJson(read, result.delegation, {
    before: 0,
    asOf: record.asOf,
  });
  const verified = verifiedJson(record, result, request, dependencies);
  const proof = await proofOf(record, verified, request, dependencies);
  const json: VerifiedGrantAnswer = { ...verified, delegation, delegation_omitted, ...proof };
  request.spend({ hops: hopsOf(result.delegation) });
  return { status: 200, json };
};
