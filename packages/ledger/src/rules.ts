/**
 * By which rules entries are decided. The number is part of the replicated state: every cluster begins with 1, a
 * `raise_rules` command raises it, nothing lowers it, and an entry is decided by the rules in force before it. So
 * replicas agree on the rules of each entry, whatever their programs could do besides. docs/versions.md.
 */
import { LedgerHaltError } from "./halt.ts";

/** The first byte of an entry. A program that does not know it stops by name, and decides nothing by older rules. */
export type EntryVersion = 1 | 2;

export interface Rules {
  readonly number: number;
  /** Of the entries that a leader writes while these rules are in force. Earlier versions are read for ever. */
  readonly entryVersion: EntryVersion;
  /**
   * False: only leaves move the ledger's time on, so that after an entry without leaves a leader whose clock is behind
   * may stamp an earlier time, at which a key that had ended is good once more. True: every entry moves it on.
   */
  readonly keepsEveryTime: boolean;
}

const ALL_RULES: readonly Rules[] = [
  { number: 1, entryVersion: 1, keepsEveryTime: false },
  { number: 2, entryVersion: 2, keepsEveryTime: true },
];

/** The rules that every cluster begins with. */
export const RULES_FIRST = 1;
/** The highest that this program can decide by; it can decide by all before. */
export const RULES_MAX = ALL_RULES.length;
export const ENTRY_VERSION_MAX = 2;

export function isEntryVersion(version: number): version is EntryVersion {
  return version >= 1 && version <= ENTRY_VERSION_MAX;
}

/** @throws LedgerHaltError `rules_unknown`: a newer program raised them */
export function rulesOf(number: number): Rules {
  const rules = ALL_RULES[number - 1];
  if (rules === undefined) throw new LedgerHaltError("rules_unknown", `rules ${number}, this program has ${RULES_MAX}`);
  return rules;
}
