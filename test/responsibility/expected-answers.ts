/** What queries, verify and trace must say at a position. Part of the model: see model.ts. */
import { must } from "./model.ts";
import type { Claim, Event, Grant, Model, State } from "./model.ts";
import type { Position } from "./operations.ts";

const POSSIBLE_PARENTS_MAX = 100;

/** What a query for the active record of a pair finds. */
export type Found =
  | { readonly sequence: number; readonly state: State; readonly others: number }
  /** Not found: the newest of the pair, if there is any. */
  | { readonly newest: { readonly sequence: number; readonly state: State } | null };

export interface Verification {
  readonly valid: boolean;
  /** Ascending by name. */
  readonly failing: readonly string[];
}

export interface Authority {
  /** The subject of the claim has signed. */
  readonly isActorProven: boolean;
  readonly authorisedAtAction: boolean | "unknown";
  readonly authorisedNow: boolean | "unknown";
  /** Sequences, from the event's grant to the root. */
  readonly delegation: readonly number[];
  readonly possibleParents: readonly number[];
  /** Sequences of the revocations of anything that the authority hangs on, ascending. */
  readonly revocations: readonly number[];
  readonly isSuspect: boolean;
  readonly actorState: State | null;
  readonly isForeignKey: boolean;
}

export function findClaim(model: Model, entity: string, attributeType: number, at: Position): Found {
  const newest = model.newestOfPair(entity, attributeType);
  if (newest === null) return { newest: null };
  const found = { sequence: newest.sequence, state: model.claimState(newest, at) };
  return found.state === "active" ? { ...found, others: 0 } : { newest: found };
}

export function findGrant(model: Model, grantor: string, grantee: string, at: Position): Found {
  const between = model
    .grants()
    .filter((one) => model.claim(one.grantor).entity === grantor && model.claim(one.grantee).entity === grantee);
  const lineagesOf = (one: Grant): readonly [number, number] => [
    model.lineage(model.claim(one.grantor)),
    model.lineage(model.claim(one.grantee)),
  ];
  const inForce = between
    .filter((one) => model.isGrantInForce(one, at))
    .sort((a, b) => lineagesOf(a)[0] - lineagesOf(b)[0] || lineagesOf(a)[1] - lineagesOf(b)[1]);
  const [first] = inForce;
  if (first !== undefined) return { sequence: first.sequence, state: "active", others: inForce.length - 1 };
  const newest = between.at(-1);
  return { newest: newest === undefined ? null : { sequence: newest.sequence, state: model.grantState(newest, at) } };
}

export function verifyClaim(model: Model, claim: Claim, at: Position): Verification {
  return conclude({
    exists: claim.sequence <= at.sequence,
    revocation: model.revokedAt(claim.sequence) > at.sequence,
    superseded: model.claimSupersededAt(claim) > at.sequence,
    window: claim.expiresAt === 0 || at.timeMs < claim.expiresAt,
  });
}

/** @param trustedRoots sequences of claims; null: none are given */
export function verifyGrant(
  model: Model,
  grant: Grant,
  at: Position,
  trustedRoots: readonly number[] | null,
): Verification {
  const ancestors = model.chain(grant).slice(1);
  return conclude({
    exists: grant.sequence <= at.sequence,
    delegation_chain: ancestors.every((one) => model.isGrantInForce(one, at)),
    grantor_claim: model.isPartyInForce(grant.grantor, at),
    grantee_claim: model.isPartyInForce(grant.grantee, at),
    revocation: !isRevokedWithAny(model, grant, at),
    superseded: model.grantSupersededAt(grant) > at.sequence,
    window: model.isInWindow(grant, at),
    root_authority: trustedRoots === null || isRootTrusted(model, grant, trustedRoots),
  });
}

/** Whether a grant of the chain is revoked, or a claim that one of them names, or the newest of that one's lineage. */
function isRevokedWithAny(model: Model, grant: Grant, at: Position): boolean {
  const hangsOn = model.chain(grant).flatMap((link) => {
    const named = [link.grantor, link.grantee];
    const newest = named.map((claim) => newestOf(model, model.lineage(model.claim(claim)), at.sequence));
    return [link.sequence, ...named, ...newest];
  });
  return hangsOn.some((sequence) => model.revokedAt(sequence) <= at.sequence);
}

function isRootTrusted(model: Model, grant: Grant, trustedRoots: readonly number[]): boolean {
  const root = must(model.chain(grant).at(-1));
  const wanted = model.lineage(model.claim(root.grantor));
  return trustedRoots.some((one) => model.lineage(model.claim(one)) === wanted);
}

/** @param eventHash what the caller believes; null: not compared */
export function verifyEvent(model: Model, event: Event, at: Position, eventHash: string | null): Verification {
  const exists = event.sequence <= at.sequence;
  const isHash = eventHash === null || eventHash === event.hash;
  const isSameHash = event.eventDataHash === null || event.eventDataHash === event.hash;
  const failing = {
    exists,
    event_hash: isHash,
    event_data_hash_matches: isSameHash,
    actor_is_iris_subject: !isForeignKey(model, event),
  };
  return { ...conclude(failing), valid: exists && isHash };
}

function isForeignKey(model: Model, event: Event): boolean {
  return event.actor !== null && event.iris !== null && model.claim(event.iris).subject !== event.actor;
}

function conclude(checks: Readonly<Record<string, boolean>>): Verification {
  const failing = Object.keys(checks)
    .filter((code) => checks[code] === false)
    .sort();
  return { valid: failing.length === 0, failing };
}

export function traceEvent(model: Model, event: Event, at: Position): Authority {
  const grant = event.grant === null ? null : model.grant(event.grant);
  const iris = event.iris === null ? null : model.claim(event.iris);
  const chain = grant === null ? [] : model.chain(grant);
  const action = { sequence: event.sequence, timeMs: event.acceptedMs };
  const revocations = touching(model, iris, chain, at, event.sequence);
  return {
    isActorProven: iris !== null && event.actor === iris.subject,
    authorisedAtAction: isAuthorised(model, event, action),
    authorisedNow: isAuthorised(model, event, at),
    delegation: chain.map(({ sequence }) => sequence),
    possibleParents: possibleParents(model, chain, at),
    revocations: revocations.map(({ sequence }) => sequence),
    isSuspect: revocations.some(({ suspectSince }) => suspectSince !== 0 && suspectSince <= event.acceptedMs),
    actorState: iris === null ? null : model.claimState(iris, at),
    isForeignKey: isForeignKey(model, event),
  };
}

function isAuthorised(model: Model, event: Event, at: Position): boolean | "unknown" {
  // Whoever signs in the name of another acts under nobody's grant, named or not.
  if (isForeignKey(model, event)) return false;
  if (event.iris === null || event.grant === null) return "unknown";
  const [iris, grant] = [model.claim(event.iris), model.grant(event.grant)];
  const isGrantee = model.lineage(iris) === model.lineage(model.claim(grant.grantee));
  return isGrantee && model.isClaimInForce(iris, at) && model.isGrantInForce(grant, at);
}

/** Revocations up to a position of what the act names, and of the newest claims that stood for it then and now. */
function touching(model: Model, iris: Claim | null, chain: readonly Grant[], at: Position, actedAt: number) {
  const named = [...(iris === null ? [] : [iris.sequence]), ...chain.flatMap((one) => [one.grantor, one.grantee])];
  const claims = named.flatMap((sequence) => {
    const lineage = model.lineage(model.claim(sequence));
    return [sequence, ...[actedAt, at.sequence].map((upTo) => newestOf(model, lineage, upTo))];
  });
  const targets = [...claims, ...chain.map(({ sequence }) => sequence)];
  return model.revocations().filter(({ sequence, target }) => sequence <= at.sequence && targets.includes(target));
}

function newestOf(model: Model, lineage: number, upTo: number): number {
  const links = model.claims().filter((claim) => claim.sequence <= upTo && model.lineage(claim) === lineage);
  return links.at(-1)?.sequence ?? lineage;
}

function possibleParents(model: Model, chain: readonly Grant[], at: Position): number[] {
  const root = chain.at(-1);
  if (root === undefined) return [];
  const wanted = model.lineage(model.claim(root.grantor));
  return model
    .grants()
    .filter((one) => model.isGrantInForce(one, at) && model.lineage(model.claim(one.grantee)) === wanted)
    .map(({ sequence }) => sequence)
    .filter((sequence) => !chain.some((link) => link.sequence === sequence))
    .slice(0, POSSIBLE_PARENTS_MAX);
}
