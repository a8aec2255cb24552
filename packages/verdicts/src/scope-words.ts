/** What was delegated, in words: the statements of scope documents. Makers of grants have written them. */
import type { ProvedScope, ScopeValue } from "@event-anchoring/bundle";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Mark, ShownStep } from "./mark.ts";
import { NO_NAMES, named } from "./trace-words.ts";
import type { Names } from "./trace-words.ts";

/** What the reader of a verification calls things. */
export interface StepNames {
  /** By hex digits. */
  readonly hashes: Names;
  /** Meanings of scope statements, by their names. */
  readonly statements: Names;
}

const NOTHING_NAMED: StepNames = { hashes: NO_NAMES, statements: NO_NAMES };

/** Controls, and what changes how other characters are shown or cannot be seen. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Co}\p{Zl}\p{Zp}]/gu;

function escaped(characters: string): string {
  return Array.from({ length: characters.length }, (_, at) => {
    return `\\u${characters.charCodeAt(at).toString(16).padStart(4, "0")}`;
  }).join("");
}

/** A value as JSON, in which nothing is hidden and nothing moves a cursor. */
function scopeValueText(value: ScopeValue): string {
  return JSON.stringify(value).replaceAll(UNSEEN, escaped);
}

/** `max_amount: 5000` */
export function statementText({ name, value }: ProvedScope["statements"][number]): string {
  return `${name}: ${scopeValueText(value)}`;
}

function counted(count: number): string {
  return `${count} ${count === 1 ? "statement" : "statements"}`;
}

/** `2 statements disclosed, 3 withheld` */
export function disclosedText(disclosed: number, withheld: number): string {
  return `${counted(disclosed)} disclosed, ${withheld === 0 ? "none" : withheld} withheld`;
}

/**
 * The statements of each scope that was disclosed, a line each.
 * @param names of grants, and what statements mean
 */
export function scopeSteps(
  scopes: readonly ProvedScope[],
  mark: Mark,
  { hashes, statements: meanings } = NOTHING_NAMED,
): ShownStep[] {
  return scopes.flatMap(({ grants, statements, withheld }) => {
    const known = grants.map((grant) => named(bytesToHex(grant), hashes)).join(", ");
    const whose = `${grants.length === 1 ? "grant" : "grants"} ${known}`;
    const detail = `of ${whose}: ${disclosedText(statements.length, withheld)}`;
    return [
      { mark, label: "scope", detail },
      ...statements.map((statement): ShownStep => {
        const meaning = meanings.has(statement.name) ? ` (${meanings.get(statement.name)})` : "";
        return { mark, label: "", detail: statementText(statement) + meaning };
      }),
    ];
  });
}
