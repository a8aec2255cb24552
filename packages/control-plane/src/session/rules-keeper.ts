import type { Hello } from "@event-anchoring/control-contract";
import { type LedgerState, RULES_FIRST, type Rules } from "@event-anchoring/ledger";
import type { TrustRoot } from "@event-anchoring/protocol";
import type { Environment } from "../ports/environment.ts";
import type { Submission } from "../proposals/proposals.ts";

/** A raise that is not proposed by then may be wrong by now: it is considered anew. */
const RAISE_DEADLINE_MS = 1000;

export interface RulesKeeperOptions {
  readonly environment: Pick<Environment, "clock" | "logger">;
  readonly state: Pick<LedgerState, "rules" | "ruleTable">;
  readonly selfNodeId: string;
  /** The highest rules that this node lets the cluster raise to, if lower than it knows; null: all that it knows. */
  readonly rulesHeldAt: number | null;
  /** The newest applied version; null before genesis. */
  readonly trustRoot: () => TrustRoot | null;
  readonly isConnected: (nodeId: string) => boolean;
  readonly submit: (submission: Submission) => void;
}

/** A node by which higher rules are held back. */
export interface RulesHolder {
  readonly nodeId: string;
  /** The highest rules that it says it lets the cluster raise to; null: it is not connected. */
  readonly rulesMax: number | null;
}

/**
 * On the leader: raises the rules (the cluster's feature level) as soon as every node that is or will be in the group
 * has said, in the hello of its current connection, that it knows them. A disconnected node might come back with
 * another program, so it holds them back.
 */
export class RulesKeeper {
  readonly #options: RulesKeeperOptions;
  /** The highest rules by each peer's last hello. */
  readonly #said = new Map<string, number>();
  #isUnderWay = false;

  constructor(options: RulesKeeperOptions) {
    this.#options = options;
  }

  /** What this node says in its own hello. */
  get rulesMax(): number {
    const { known } = this;
    return Math.max(RULES_FIRST, Math.min(this.#options.rulesHeldAt ?? known, known));
  }

  /** The highest rules that this program can decide by. */
  get known(): number {
    return this.#options.state.ruleTable.max;
  }

  /** The rules by which the next entry is decided here. */
  get inForce(): Rules {
    const { state } = this.#options;
    return state.ruleTable.of(state.rules);
  }

  /** A peer's hello was accepted. */
  onHello({ nodeId, rulesMax }: Hello): void {
    this.#said.set(nodeId, rulesMax);
  }

  /** The nodes that hold back the highest rules that this program knows; empty: none. */
  heldBackBy(): readonly RulesHolder[] {
    const nodes = this.#options.trustRoot()?.nodes ?? [];
    return nodes
      .filter(({ status }) => status === "active" || status === "learner")
      .map(({ nodeId }) => ({ nodeId, rulesMax: this.#allowedBy(nodeId) }))
      .filter(({ rulesMax }) => rulesMax === null || rulesMax < this.known);
  }

  /**
   * Whether this program knows less than the group: every other node that is connected says that it knows higher rules.
   * @param leader whose word alone is not enough, as long as another node is connected
   * @returns null: no other node is connected
   */
  isOutgrown(leader: string): boolean | null {
    const { trustRoot, selfNodeId } = this.#options;
    const others = (trustRoot()?.nodes ?? []).filter(
      ({ nodeId, status }) =>
        (status === "active" || status === "learner") && nodeId !== selfNodeId && nodeId !== leader,
    );
    const said = others.flatMap(({ nodeId }) => this.#allowedBy(nodeId) ?? []);
    if (said.length === 0) return others.length === 0 ? true : null;
    return said.every((rulesMax) => rulesMax > this.known);
  }

  /** Called periodically on the leader. */
  look(): void {
    const { state, trustRoot, environment } = this.#options;
    if (trustRoot() === null || this.#isUnderWay) return;
    const rules = Math.min(this.known, ...this.heldBackBy().map(({ rulesMax }) => rulesMax ?? 0));
    if (rules <= state.rules) return;
    this.#isUnderWay = true;
    environment.logger.info("rules_raised", { from: state.rules, to: rules });
    this.#options.submit({
      command: { kind: "raise_rules", rules },
      answer: "committed",
      deadlineMs: environment.clock.monotonicMs() + RAISE_DEADLINE_MS,
      respond: () => (this.#isUnderWay = false),
    });
  }

  #allowedBy(nodeId: string): number | null {
    if (nodeId === this.#options.selfNodeId) return this.rulesMax;
    return this.#options.isConnected(nodeId) ? (this.#said.get(nodeId) ?? null) : null;
  }
}
