/**
 * The rules by which entries are decided: the cluster's feature level. The number is part of the replicated state:
 * every cluster begins with 1, a `raise_rules` command raises it, nothing lowers it, and an entry is decided by the
 * rules in force before it. So replicas agree on the rules of each entry, even if their programs know higher ones.
 * docs/versions.md.
 */
import { LedgerHaltError } from "./halt.ts";

export interface Rules {
  readonly number: number;
  /** First byte of the entries that a leader writes while these rules are in force. */
  readonly entryVersion: number;
}

/** The rules that a program can decide by: 1 and every later one up to `max`. Each program passes its own. */
export class RuleTable {
  readonly #rules: readonly Rules[];

  /** @param entryVersions of rules 1, 2, ... */
  constructor(entryVersions: readonly number[]) {
    this.#rules = entryVersions.map((entryVersion, at) => ({ number: at + 1, entryVersion }));
  }

  /** The highest rules that the program can decide by. */
  get max(): number {
    return this.#rules.length;
  }

  /** @throws LedgerHaltError `rules_unknown`: a newer program raised them */
  of(number: number): Rules {
    const rules = this.#rules[number - 1];
    if (rules === undefined)
      throw new LedgerHaltError("rules_unknown", `rules ${number}, this program has ${this.max}`);
    return rules;
  }

  /** False: a newer program wrote the entry. */
  readsEntries(version: number): boolean {
    return this.#rules.some(({ entryVersion }) => entryVersion === version);
  }
}

/** The rules that every cluster begins with. */
export const RULES_FIRST = 1;
/** The rules that this release can decide by. */
export const RELEASE_RULES = new RuleTable([1]);
