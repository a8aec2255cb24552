/** What an operation must be answered with, check by check in their order. Part of the model: see model.ts. */
import { NEVER } from "./model.ts";
import type { Claim, Grant, Model } from "./model.ts";
import { NOWHERE } from "./operations.ts";
import type {
  Act,
  ClaimOperation,
  ErasureOperation,
  EventOperation,
  GrantOperation,
  Operation,
  Position,
  Proposer,
  RecordOperation,
  Reference,
  RevocationOperation,
  Verdict,
} from "./operations.ts";

const FUTURE_MS_MAX = 300_000;

export class Judge {
  readonly #model: Model;

  constructor(model: Model) {
    this.#model = model;
  }

  /** What the operation would be answered if an entry stamped `stampMs` held it. */
  decide(operation: Operation, stampMs: number): Verdict {
    const at = { sequence: this.#model.recorded.length, timeMs: Math.max(stampMs, this.#model.lastMs) };
    switch (operation.kind) {
      case "claim":
        return this.#decideClaim(operation, at);
      case "grant":
        return this.#decideGrant(operation, at);
      case "revocation":
        return this.#decideRevocation(operation, at);
      case "event":
        return this.#decideEvent(operation);
      case "erasure":
        return this.#decideErasure(operation);
    }
  }

  #judgeAct({ operator, isForged, counter }: Act): Verdict | null {
    const newest = this.#model.operators.get(operator);
    if (newest === undefined) return refuse("operator_unknown", "/operator");
    if (isForged) return refuse("signature_invalid", "/signature");
    return counter > newest ? null : refuse("operator_counter_used", "/counter");
  }

  #decideErasure({ by, act, target }: ErasureOperation): Verdict {
    const refused = act === null ? judgeKey(by, ["admin"]) : this.#judgeAct(act);
    const event = this.#model.recorded.find(({ sequence }) => sequence === target);
    if (refused !== null) return refused;
    if (event === undefined) return refuse("reference_not_found", "/anchor_id");
    if (event.kind !== "event") return refuse("reference_wrong_kind", "/anchor_id");
    if (event.clientEventId === null) return { result: "unchanged" };
    if (act === null && event.by.client !== by.client) return refuse("not_own_record", "/anchor_id");
    return { result: this.#model.erased.has(target) ? "unchanged" : "applied" };
  }

  #decideClaim(claim: ClaimOperation, at: Position): Verdict {
    const { by, origin, forged, issuedAt, expiresAt } = claim;
    const newest = this.#model.newestOfPair(claim.entity, claim.attributeType);
    const isFree = newest === null || newest.issuer === claim.issuer;
    const mayTakeOver =
      newest !== null && this.#model.revokedAt(newest.sequence) < NEVER && by.scopes.includes("admin");
    return (
      judgeKey(by, ["write"]) ??
      this.#judgeKnown(origin) ??
      (forged === null ? null : refuse("signature_invalid", `/${forged}_signature`)) ??
      this.#replay(claim, contentOfClaim) ??
      this.#judgeOpen(origin) ??
      (issuedAt > at.timeMs + FUTURE_MS_MAX ? refuse("issued_in_future", "/issued_at") : null) ??
      (expiresAt !== 0 && expiresAt <= at.timeMs ? refuse("window_invalid", "/expires_at") : null) ??
      (isFree || mayTakeOver ? null : refuse("claim_conflict", null)) ?? { result: "accepted", origin }
    );
  }

  #decideGrant(grant: GrantOperation, at: Position): Verdict {
    const { by, origin, forged, issuedAt } = grant;
    return (
      judgeKey(by, ["write"]) ??
      this.#judgeKnown(origin) ??
      (forged === null ? null : refuse("signature_invalid", `/${forged}_signature`)) ??
      this.#replay(grant, contentOfGrant) ??
      this.#judgeOpen(origin) ??
      this.#judgeReference(grant.grantor, "claim", "/grantor_claim_ref") ??
      this.#judgeReference(grant.grantee, "claim", "/grantee_claim_ref") ??
      this.#judgeReference(grant.parent, "grant", "/parent_grant_ref") ??
      (issuedAt > at.timeMs + FUTURE_MS_MAX ? refuse("issued_in_future", "/issued_at") : null) ??
      this.#judgeWindow(grant, at) ??
      this.#judgeDelegation(grant, at) ?? { result: "accepted", origin }
    );
  }

  #judgeWindow({ notBefore, expiresAt, parent }: GrantOperation, at: Position): Verdict | null {
    if (notBefore !== 0 && expiresAt !== 0 && notBefore >= expiresAt) return refuse("window_invalid", null);
    if (expiresAt !== 0 && expiresAt <= at.timeMs) return refuse("window_invalid", null);
    if (parent === null) return null;
    const outer = this.#model.window(this.#model.grant(parent));
    const isEarly = notBefore !== 0 && notBefore < outer.notBefore;
    const isLate = outer.expiresAt !== 0 && (notBefore >= outer.expiresAt || expiresAt > outer.expiresAt);
    const isBefore = expiresAt !== 0 && expiresAt <= outer.notBefore;
    return isEarly || isLate || isBefore ? refuse("window_outside_parent", null) : null;
  }

  #judgeDelegation(grant: GrantOperation, at: Position): Verdict | null {
    const grantor = this.#model.claim(grant.grantor);
    if (!this.#model.isClaimInForce(grantor, at)) return refuse("claim_not_in_force", "/grantor_claim_ref");
    if (!this.#model.isClaimInForce(this.#model.claim(grant.grantee), at))
      return refuse("claim_not_in_force", "/grantee_claim_ref");
    const parent = grant.parent === null ? null : this.#model.grant(grant.parent);
    if (parent !== null && !this.#model.isGrantInForce(parent, at))
      return refuse("grant_not_in_force", "/parent_grant_ref");
    if (grant.grantorKey !== grantor.subject) return refuse("grantor_key_mismatch", "/grantor_public_key");
    if (grant.witnessKey === grant.grantorKey) return refuse("witness_is_grantor", "/witness_public_key");
    if (parent === null) return null;
    if (this.#model.lineage(this.#model.claim(parent.grantee)) !== this.#model.lineage(grantor))
      return refuse("parent_mismatch", "/parent_grant_ref");
    const isOwnEnd = this.#model
      .chain(parent)
      .some((link) => this.#model.isBetween(link, grant.grantor, grant.grantee));
    if (isOwnEnd) return refuse("parent_mismatch", "/parent_grant_ref");
    return grant.delegationDepth < parent.delegationDepth ? null : refuse("depth_exceeded", "/delegation_depth");
  }

  #decideRevocation(operation: RevocationOperation, at: Position): Verdict {
    const { by, act, revoker, target: sequence, targetKind, origin, isForged, issuedAt } = operation;
    const enough = revoker === null ? ["revoke"] : ["write", "revoke"];
    const refused = act === null ? judgeKey(by, enough) : this.#judgeAct(act);
    const target = this.#model.recorded.find((one) => one.sequence === sequence);
    if (refused !== null) return refused;
    if (target === undefined) return refuse("reference_not_found", "/anchor_id");
    if (target.kind !== targetKind) return refuse("reference_wrong_kind", "/anchor_id");
    if (origin !== null && !this.#model.origins.has(origin)) return refuse("origin_unknown", "/origin_fingerprint");
    const isLost = this.#model.origins.get(target.placedIn) === "lost";
    if (!isLost && origin !== null && origin !== target.placedIn)
      return refuse("origin_mismatch", "/origin_fingerprint");
    if (revoker !== null && !partiesOf(target).includes(revoker))
      return refuse("signature_invalid", "/revoker_public_key");
    if (isForged) return refuse("signature_invalid", "/revoker_signature");
    const isAnothers = target.by.client !== by.client;
    if (revoker === null && act === null && isAnothers) return refuse("not_own_record", "/anchor_id");
    const replay = this.#replay(operation, contentOfRevocation);
    if (replay !== null) return replay;
    if (isLost && (origin === null || this.#model.origins.get(origin) !== "active"))
      return refuse("origin_closed", "/origin_fingerprint");
    if (issuedAt > at.timeMs + FUTURE_MS_MAX) return refuse("issued_in_future", "/issued_at");
    return { result: "accepted", origin: isLost && origin !== null ? origin : target.placedIn };
  }

  #decideEvent(event: EventOperation): Verdict {
    const { by, origin, isForged } = event;
    return (
      judgeKey(by, ["write"]) ??
      this.#judgeKnown(origin) ??
      (isForged ? refuse("signature_invalid", "/actor_signature") : null) ??
      this.#replayEvent(event) ??
      this.#judgeOpen(origin) ??
      this.#judgeReference(event.iris, "claim", "/semantic_anchor/iris_ref") ??
      this.#judgeReference(event.scroll, null, "/semantic_anchor/scroll_ref") ??
      this.#judgeReference(event.grant, "grant", "/semantic_anchor/grant_ref") ??
      this.#judgeReference(event.bond, null, "/semantic_anchor/bond_ref") ??
      this.#judgeReference(event.yield, null, "/semantic_anchor/yield_ref") ?? { result: "accepted", origin }
    );
  }

  #judgeKnown(origin: string): Verdict | null {
    return this.#model.origins.has(origin) ? null : refuse("origin_unknown", "/origin_fingerprint");
  }

  #judgeOpen(origin: string): Verdict | null {
    return this.#model.origins.get(origin) === "active" ? null : refuse("origin_closed", "/origin_fingerprint");
  }

  #judgeReference(reference: Reference, kind: "claim" | "grant" | null, pointer: string): Verdict | null {
    if (reference === null) return null;
    const found = this.#model.recorded.find(({ sequence }) => sequence === reference);
    if (reference === NOWHERE || found === undefined) return refuse("reference_not_found", pointer);
    return kind === null || found.kind === kind ? null : refuse("reference_wrong_kind", pointer);
  }

  #replay<Op extends RecordOperation>(operation: Op, contentOf: (operation: Op) => unknown[]): Verdict | null {
    const wanted = JSON.stringify(contentOf(operation));
    const same = this.#model.recorded.find(
      (one) => one.kind === operation.kind && JSON.stringify(contentOf(one as unknown as Op)) === wanted,
    );
    return same === undefined ? null : { result: "replayed", sequence: same.sequence };
  }

  #replayEvent(event: EventOperation): Verdict | null {
    const first = this.#model.recorded.find(
      (one) =>
        one.kind === "event" &&
        one.clientEventId !== null &&
        one.clientEventId === event.clientEventId &&
        one.by.client === event.by.client,
    );
    if (first?.kind !== "event") return null;
    const isSame = JSON.stringify(contentOfEvent(first)) === JSON.stringify(contentOfEvent(event));
    return isSame
      ? { result: "replayed", sequence: first.sequence }
      : refuse("client_event_id_conflict", "/client_event_id");
  }
}

function refuse(code: string, pointer: string | null): Verdict {
  return { result: "refused", code, pointer };
}

function judgeKey({ isLive, scopes }: Proposer, enough: readonly string[]): Verdict | null {
  if (!isLive) return refuse("api_key_invalid", null);
  return enough.some((scope) => scopes.includes(scope)) ? null : refuse("scope_missing", null);
}

function partiesOf(target: Claim | Grant): string[] {
  return target.kind === "claim" ? [target.issuer, target.subject] : [target.grantorKey, target.witnessKey];
}

function contentOfClaim(one: ClaimOperation): unknown[] {
  return [
    one.origin,
    one.entity,
    one.attributeType,
    one.attribute,
    one.issuedAt,
    one.expiresAt,
    one.subject,
    one.issuer,
  ];
}

function contentOfGrant(one: GrantOperation): unknown[] {
  const { origin, grantor, grantee, parent, scope, delegationDepth, issuedAt, notBefore, expiresAt } = one;
  const keys = [one.grantorKey, one.witnessKey];
  return [origin, grantor, grantee, parent, scope, delegationDepth, issuedAt, notBefore, expiresAt, ...keys];
}

function contentOfRevocation(one: RevocationOperation): unknown[] {
  const revoker = one.revoker ?? (one.act === null ? `client ${one.by.client}` : `operator ${one.act.operator}`);
  return [one.target, one.reason, one.suspectSince, one.issuedAt, one.revoker === null, revoker];
}

function contentOfEvent(one: EventOperation): unknown[] {
  return [one.hash, one.iris, one.scroll, one.grant, one.bond, one.yield, one.eventDataHash, one.actor];
}
