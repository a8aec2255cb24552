import type { ControlPlaneNode, NodeIdentity, Promises } from "@event-anchoring/control-plane";
import type { EntryDecision } from "@event-anchoring/ledger";
import { RELEASE_RULES } from "@event-anchoring/ledger";
import type { Entry } from "raft-ts";
import { type LifeParts, SimulatedMachine } from "../machine/simulated-machine.ts";

export type NodeSession = NonNullable<ControlPlaneNode["session"]>;

/** A machine of a quiet cluster, and what a test looks at. It may be stopped for good: tests ask for that. */
export class QuietMachine extends SimulatedMachine {
  /** Promises that became durable while it ran, in order. */
  readonly saved: Promises[] = [];
  /** Called when an entry is on its way into the tables. */
  onDecided: ((decision: EntryDecision) => void) | null = null;

  constructor(identity: NodeIdentity, position: number, parts: LifeParts) {
    super(identity.nodeId, identity, position, parts);
    this.ruleTable = RELEASE_RULES;
    this.excuse = "a test";
    this.volume.onSaved = (promises) => this.saved.push(promises);
  }

  get nodeId(): string {
    return this.identity.nodeId;
  }

  get session(): NodeSession | null {
    return this.node?.session ?? null;
  }

  /** It runs, in the session that its start began. */
  get livesOn(): boolean {
    return this.session !== null && this.sessions === 1;
  }

  /** Its node, while the process runs. */
  running(): ControlPlaneNode {
    if (this.node === null) throw new Error(`${this.name} is not running`);
    return this.node;
  }

  live(): NodeSession {
    if (this.session === null) throw new Error(`${this.name} has no session`);
    return this.session;
  }

  /** What its log holds, durably. */
  get entries(): readonly Entry[] {
    return this.database.rows.map(({ entry }) => entry);
  }

  /** What its tables hold, in the order of the log. */
  get decisions(): readonly EntryDecision[] {
    return this.database.applied.map(({ decision }) => decision);
  }

  /** As they are in its promise file. */
  get promises(): Promises {
    if (this.volume.durable === null) throw new Error(`${this.name} has no promise file`);
    return this.volume.durable;
  }
}
