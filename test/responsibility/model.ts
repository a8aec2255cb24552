/**
 * What the service must answer, written from the rules alone: every question is answered from the list of everything
 * that was recorded, from its beginning and by the shortest way. It shares no code with the service.
 */
import type {
  Act,
  ClaimOperation,
  EventOperation,
  GrantOperation,
  Position,
  RecordOperation,
  RevocationOperation,
} from "./operations.ts";

export type State = "active" | "superseded" | "revoked" | "expired";

type Placed<Op> = Op & { readonly sequence: number; readonly acceptedMs: number; readonly placedIn: string };
export type Claim = Placed<ClaimOperation>;
export type Grant = Placed<GrantOperation>;
export type Revocation = Placed<RevocationOperation>;
export type Event = Placed<EventOperation>;
/** A leaf that no client has asked for. */
type Other = { readonly kind: "other"; readonly sequence: number; readonly acceptedMs: number };
export type Recorded = Claim | Grant | Revocation | Event | Other;

export const NEVER = Infinity;
const STATES: readonly State[] = ["revoked", "superseded", "expired"];

export class Model {
  readonly recorded: Recorded[] = [];
  readonly origins: Map<string, "active" | "closed" | "lost">;
  /** Counter of each operator's newest act: whoever is not listed is no operator. */
  readonly operators: Map<string, number>;
  /** Events whose client event id is forgotten. */
  readonly erased = new Set<number>();

  constructor(origins: readonly string[], operators: ReadonlyMap<string, number> = new Map()) {
    this.origins = new Map(origins.map((origin) => [origin, "active"]));
    this.operators = new Map(operators);
  }

  /** An operator has signed it: its counter is used, whatever it has come to. */
  noteAct({ operator, counter, isForged }: Act): void {
    const newest = this.operators.get(operator);
    if (newest !== undefined && !isForged && counter > newest) this.operators.set(operator, counter);
  }

  /** Time of the newest leaf. */
  get lastMs(): number {
    return this.recorded.at(-1)?.acceptedMs ?? 0;
  }

  addOther(acceptedMs: number): void {
    this.recorded.push({ kind: "other", sequence: this.recorded.length, acceptedMs });
  }

  /** Records what was accepted. */
  add(operation: RecordOperation, placedIn: string, acceptedMs: number): void {
    this.recorded.push({ ...operation, sequence: this.recorded.length, acceptedMs, placedIn });
  }

  claims(): Claim[] {
    return this.recorded.filter((one) => one.kind === "claim");
  }

  grants(): Grant[] {
    return this.recorded.filter((one) => one.kind === "grant");
  }

  revocations(): Revocation[] {
    return this.recorded.filter((one) => one.kind === "revocation");
  }

  claim(sequence: number): Claim {
    return must(this.claims().find((claim) => claim.sequence === sequence));
  }

  grant(sequence: number): Grant {
    return must(this.grants().find((grant) => grant.sequence === sequence));
  }

  newestOfPair(entity: string, attributeType: number): Claim | null {
    return this.claims().findLast((one) => one.entity === entity && one.attributeType === attributeType) ?? null;
  }

  revokedAt(sequence: number): number {
    return this.revocations().find(({ target }) => target === sequence)?.sequence ?? NEVER;
  }

  /** Sequence of the first claim of its lineage. */
  lineage(claim: Claim): number {
    const before = this.#pairOf(claim).findLast(({ sequence }) => sequence < claim.sequence);
    const isContinued = before !== undefined && this.revokedAt(before.sequence) > claim.sequence;
    return isContinued ? this.lineage(before) : claim.sequence;
  }

  #pairOf(claim: Claim): Claim[] {
    return this.claims().filter((one) => one.entity === claim.entity && one.attributeType === claim.attributeType);
  }

  claimSupersededAt(claim: Claim): number {
    const next = this.#pairOf(claim).find(({ sequence }) => sequence > claim.sequence);
    return next !== undefined && this.lineage(next) === this.lineage(claim) ? next.sequence : NEVER;
  }

  grantSupersededAt(grant: Grant): number {
    const next = this.grants().find(
      (one) => one.sequence > grant.sequence && this.isBetween(one, grant.grantor, grant.grantee),
    );
    return next !== undefined && this.revokedAt(grant.sequence) > next.sequence ? next.sequence : NEVER;
  }

  /** Whether a grant joins the lineages of these two claims. */
  isBetween(grant: Grant, grantor: number, grantee: number): boolean {
    const [wanted, found] = [
      [grantor, grantee],
      [grant.grantor, grant.grantee],
    ].map((pair) => pair.map((claim) => this.lineage(this.claim(claim))).join());
    return wanted === found;
  }

  claimState(claim: Claim, { sequence, timeMs }: Position): State {
    if (this.revokedAt(claim.sequence) <= sequence) return "revoked";
    if (this.claimSupersededAt(claim) <= sequence) return "superseded";
    return claim.expiresAt !== 0 && timeMs >= claim.expiresAt ? "expired" : "active";
  }

  isClaimInForce(claim: Claim, at: Position): boolean {
    return claim.sequence <= at.sequence && this.claimState(claim, at) === "active";
  }

  isLineageInForce(lineage: number, at: Position): boolean {
    return this.claims().some((claim) => this.lineage(claim) === lineage && this.isClaimInForce(claim, at));
  }

  /** Own bounds, and the parent's where there is none. */
  window(grant: Grant): { readonly notBefore: number; readonly expiresAt: number } {
    const outer = grant.parent === null ? { notBefore: 0, expiresAt: 0 } : this.window(this.grant(grant.parent));
    return { notBefore: grant.notBefore || outer.notBefore, expiresAt: grant.expiresAt || outer.expiresAt };
  }

  isInWindow(grant: Grant, { timeMs }: Position): boolean {
    const { notBefore, expiresAt } = this.window(grant);
    return notBefore <= timeMs && (expiresAt === 0 || timeMs < expiresAt);
  }

  /** Whether a party of a grant can still answer for it: the claim it names, and the lineage of that. */
  isPartyInForce(claim: number, at: Position): boolean {
    return this.revokedAt(claim) > at.sequence && this.isLineageInForce(this.lineage(this.claim(claim)), at);
  }

  isGrantInForce(grant: Grant, at: Position): boolean {
    return (
      grant.sequence <= at.sequence &&
      this.revokedAt(grant.sequence) > at.sequence &&
      this.grantSupersededAt(grant) > at.sequence &&
      this.isInWindow(grant, at) &&
      this.isPartyInForce(grant.grantor, at) &&
      this.isPartyInForce(grant.grantee, at) &&
      (grant.parent === null || this.isGrantInForce(this.grant(grant.parent), at))
    );
  }

  /** Every moment at which something that was recorded begins or ends, ascending. */
  bounds(): number[] {
    const bounds = [...this.claims(), ...this.grants()].flatMap((one) => [
      one.expiresAt,
      one.kind === "grant" ? one.notBefore : 0,
    ]);
    return bounds.filter((bound) => bound !== 0).sort((a, b) => a - b);
  }

  /** The position that a time means: the last leaf accepted no later; null before the first. */
  positionAt(timeMs: number): Position | null {
    const last = this.recorded.findLast(({ acceptedMs }) => acceptedMs <= timeMs);
    return last === undefined ? null : { sequence: last.sequence, timeMs };
  }

  /** From a grant to its root. */
  chain(grant: Grant): Grant[] {
    return grant.parent === null ? [grant] : [grant, ...this.chain(this.grant(grant.parent))];
  }

  grantState(grant: Grant, at: Position): State {
    const endings = this.chain(grant).flatMap((link): State[] => {
      const named = [link.sequence, link.grantor, link.grantee];
      const { expiresAt } = this.window(link);
      const isDead = [link.grantor, link.grantee].some(
        (one) => !this.isLineageInForce(this.lineage(this.claim(one)), at),
      );
      return [
        ...(named.some((one) => this.revokedAt(one) <= at.sequence) ? (["revoked"] as const) : []),
        ...(this.grantSupersededAt(link) <= at.sequence ? (["superseded"] as const) : []),
        ...(isDead || (expiresAt !== 0 && at.timeMs >= expiresAt) ? (["expired"] as const) : []),
      ];
    });
    return STATES.find((state) => endings.includes(state)) ?? "active";
  }
}

export function must<Found>(found: Found | undefined): Found {
  if (found === undefined) throw new Error("the history names a record that it does not hold");
  return found;
}
