/** Claims, grants and revocations that their parties have signed, and a ledger on disk that has accepted them. */
import type { ClaimInput, Command, EntryDecision, EventInput, GrantInput, LeafWrite } from "@event-anchoring/ledger";
import { partyOf, signClaim, signEvent, signGrant, signRevocation } from "@event-anchoring/testkit/records";
import { EMPTY_SEMANTIC_ANCHOR, ZERO_32 } from "@event-anchoring/protocol";
import { hash } from "./cluster.ts";
import { CREDENTIAL, event, originAt } from "./stored-ledger.ts";
import type { StoredLedgerHarness } from "./stored-ledger.ts";

type ClaimMore = Partial<ClaimInput> & { readonly subject?: string; readonly issuer?: string };

/** A claim about the entity of this name, by a subject of the same name unless another is given. */
export function claimCommand(name: string, { subject = name, issuer = "issuer", ...more }: ClaimMore = {}): Command {
  const content = {
    originFingerprint: originAt(0),
    entityFingerprint: hash(`entity ${name}`),
    attributeType: 1,
    attributeHash: hash(`attribute of ${name}`),
    issuedAt: 0,
    expiresAt: 0,
    ...more,
  };
  return {
    kind: "record_claim",
    credential: CREDENTIAL,
    claim: signClaim(content, partyOf(subject), partyOf(issuer)),
  };
}

/** Somebody, and the claim by which they act. */
export interface Holder {
  readonly name: string;
  readonly claim: LeafWrite;
}

type GrantMore = Partial<GrantInput> & { readonly parent?: LeafWrite };

export function grantCommand(grantor: Holder, grantee: Holder, { parent, ...more }: GrantMore = {}): Command {
  const content = {
    originFingerprint: originAt(0),
    grantorClaimRef: grantor.claim.anchorId,
    granteeClaimRef: grantee.claim.anchorId,
    parentGrantRef: parent?.anchorId ?? ZERO_32,
    scopeHash: hash("scope"),
    delegationDepth: 20_000,
    issuedAt: 0,
    notBefore: 0,
    expiresAt: 0,
    ...more,
  };
  return {
    kind: "record_grant",
    credential: CREDENTIAL,
    grant: signGrant(content, partyOf(grantor.name), partyOf("witness")),
  };
}

/** @param by who signs; nobody: by the API client, as operator */
export function revocationCommand(
  targetKind: "claim" | "grant",
  { anchorId, originFingerprint }: LeafWrite,
  { by, reason = 0 }: { readonly by?: string; readonly reason?: number } = {},
): Command {
  const content = { targetAnchorId: anchorId, reason, suspectSince: 0, issuedAt: 0 };
  const signer = by === undefined ? null : signRevocation({ ...content, originFingerprint }, partyOf(by));
  return {
    kind: "record_revocation",
    credential: CREDENTIAL,
    revocation: {
      ...content,
      targetKind,
      targetOriginFingerprint: originFingerprint,
      originFingerprint: null,
      signer,
    },
  };
}

export function eraseCommand(target: LeafWrite): Command {
  return { kind: "erase_client_event", credential: CREDENTIAL, anchorId: target.anchorId };
}

export function eventsCommand(inputs: readonly EventInput[]): Command {
  return { kind: "record_events", credential: CREDENTIAL, atomic: false, events: inputs };
}

/** An event that acts under a claim and a grant. @param actor who signs it; nobody: it is of kind 1 */
export function actingEvent(label: string, { iris, grant, actor, ...more }: ActingMore = {}): EventInput {
  const semanticAnchor = {
    ...EMPTY_SEMANTIC_ANCHOR,
    irisRef: iris?.anchorId ?? ZERO_32,
    grantRef: grant?.anchorId ?? ZERO_32,
  };
  const unsigned = event(label, { semanticAnchor, ...more });
  return actor === undefined ? unsigned : { ...unsigned, actor: signEvent(unsigned, partyOf(actor)) };
}

type ActingMore = Partial<Omit<EventInput, "actor">> & {
  readonly iris?: LeafWrite | undefined;
  readonly grant?: LeafWrite | undefined;
  readonly actor?: string;
};

type Runs = Pick<StoredLedgerHarness, "run">;

/** The one leaf that a command has appended. @throws if it was refused, with the reason */
export async function accepted(ledger: Runs, command: Command): Promise<LeafWrite> {
  const decision = await ledger.run([command]);
  const leaf = decision.writes.leaves[0];
  if (leaf === undefined) throw new Error(`not accepted: ${JSON.stringify(decision.outcomes)}`);
  return leaf;
}

/** A claim for each name, in one entry. */
export async function holders(ledger: Runs, names: readonly string[]): Promise<Holder[]> {
  const { writes } = await ledger.run(names.map((name) => claimCommand(name)));
  return names.map((name, at) => ({ name, claim: leafAt(writes.leaves, at) }));
}

export function leafAt(leaves: readonly LeafWrite[], at: number): LeafWrite {
  const leaf = leaves.at(at);
  if (leaf === undefined) throw new RangeError(`no leaf ${at} of ${leaves.length}`);
  return leaf;
}

/** What became of the one command of an entry. */
export function outcomeOf(decision: EntryDecision): unknown {
  const [group] = decision.outcomes;
  return group?.status === "decided" ? group.commands[0] : group;
}
