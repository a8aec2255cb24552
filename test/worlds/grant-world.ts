import { claimStateAt, grantForceAt, grantStateOf } from "@event-anchoring/records";
import type { LeafWrite } from "@event-anchoring/ledger";
import type { AsOf, ClaimRecord, GrantRecord, RecordState } from "@event-anchoring/records";
import { LedgerHarness, codeOf } from "./ledger-harness.ts";
import { claim, grant, operatorRevocation, parties } from "./signed-records.ts";
import type { GrantOptions, Party } from "./signed-records.ts";

/** Alice, Bob, Carol and Dave have claims. */
export class GrantWorld {
  readonly ledger = LedgerHarness.started();
  readonly alice: Party;
  readonly bob: Party;
  readonly carol: Party;
  readonly dave: Party;

  constructor() {
    const [alice, bob, carol, dave] = parties(this.ledger, ["alice", "bob", "carol", "dave"]);
    if (alice === undefined || bob === undefined || carol === undefined || dave === undefined) throw new Error("few");
    [this.alice, this.bob, this.carol, this.dave] = [alice, bob, carol, dave];
  }

  accept(grantor: Party, grantee: Party, options: GrantOptions = {}): LeafWrite {
    return this.ledger.acceptRecord(grant(grantor, grantee, options));
  }

  code(grantor: Party, grantee: Party, options: GrantOptions = {}): string {
    return codeOf(this.ledger.run(grant(grantor, grantee, options)));
  }

  record({ sequence }: LeafWrite): GrantRecord {
    return this.ledger.tables.records.grantAt(sequence);
  }

  claimRecord({ sequence }: LeafWrite): ClaimRecord {
    return this.ledger.tables.records.claimAt(sequence);
  }

  get now(): AsOf {
    return { sequence: this.ledger.state.nextSequence, timeMs: this.ledger.clockMs };
  }

  /** State of a grant. */
  state(write: LeafWrite, at = this.now): RecordState {
    return grantStateOf(grantForceAt(this.record(write), at, this.ledger.tables.records.everything()));
  }

  /** Codes of what keeps a grant from being in force. */
  faults(write: LeafWrite, at = this.now): string[] {
    const force = grantForceAt(this.record(write), at, this.ledger.tables.records.everything());
    if (!force.isComplete) throw new Error("a record is missing");
    return force.faults.map(({ code }) => code);
  }

  claimState(write: LeafWrite, at = this.now): RecordState {
    return claimStateAt(this.claimRecord(write), at);
  }

  /** By an operator's act. */
  revoke(kind: "claim" | "grant", target: LeafWrite): LeafWrite {
    return this.ledger.acceptRecord(operatorRevocation(kind, target));
  }

  /** A newer claim of somebody. */
  renew({ name }: Party, expiresAt = 0): Party {
    return { name, claim: this.ledger.acceptRecord(claim(name, { issuedAt: this.ledger.clockMs, expiresAt })) };
  }
}
