/** What can be said of API keys and group ids without the entries that made them: their shape. */
import { LIMITS, apiKeyIdOf } from "@event-anchoring/ledger";
import { bytesToHex, isNodeId } from "@event-anchoring/protocol";
import type { Findings, RowName, Value } from "./findings.ts";

const KEY_NUMBERS = [
  "expires_ms",
  "requests_per_second",
  "created_ms",
  "revoked_ms",
  "created_counter",
  "ended_counter",
] as const;

/** Numbers as text: a damaged one may be anything. */
export interface StatedApiKey {
  readonly keyId: Uint8Array;
  readonly keyHash: Uint8Array;
  readonly label: string;
  readonly createdBy: string;
  /** "": nobody. */
  readonly endedBy: string;
  readonly numbers: Readonly<Record<(typeof KEY_NUMBERS)[number], string>>;
  readonly scopes: number;
}

const PRINTABLE_ASCII = /^[\x20-\x7e]*$/u;
const SCOPES_MAX = 15;
const RATE_MAX = 2 ** 32 - 1;
const AFTER_ALL = Number.MAX_SAFE_INTEGER;

export function apiKeyRow(keyId: Uint8Array): RowName {
  return { table: "state.api_keys", key: `key_id ${bytesToHex(keyId)}`, at: AFTER_ALL };
}

/** A text of printable ASCII, as the command that made the key had it. */
function judgeText(name: RowName, column: string, text: string, charsMin: number, findings: Findings): void {
  const isText = PRINTABLE_ASCII.test(text) && text.length >= charsMin && text.length <= LIMITS.labelCharsMax;
  if (!isText) findings.add(name, column, JSON.stringify(text), "printable ASCII of a length that there can be");
}

function judgeOperator(name: RowName, column: string, operator: string, findings: Findings): void {
  if (!isNodeId(operator)) findings.add(name, column, JSON.stringify(operator), "the name of an operator");
}

/** The newest act of an operator. @param counter as text */
export function judgeOperatorAct(operator: string, counter: string, findings: Findings): void {
  const name = { table: "state.operators", key: `operator ${operator}`, at: AFTER_ALL };
  judgeOperator(name, "operator", operator, findings);
  judgeNumber(name, "counter", counter, Number.MAX_SAFE_INTEGER, findings);
}

function judgeNumber(name: RowName, column: string, value: Value, max: number, findings: Findings): void {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number >= 0 && number <= max) return;
  findings.add(name, column, String(value), `an integer from 0 to ${max}`);
}

export function judgeApiKey(key: StatedApiKey, findings: Findings): void {
  const name = apiKeyRow(key.keyId);
  findings.compare(name, { key_id: key.keyId }, { key_id: apiKeyIdOf(key.keyHash) });
  judgeText(name, "label", key.label, 0, findings);
  judgeOperator(name, "created_by", key.createdBy, findings);
  if (key.endedBy !== "") judgeOperator(name, "ended_by", key.endedBy, findings);
  for (const column of KEY_NUMBERS) {
    judgeNumber(
      name,
      column,
      key.numbers[column],
      column === "requests_per_second" ? RATE_MAX : Number.MAX_SAFE_INTEGER,
      findings,
    );
  }
  if (key.scopes < 1 || key.scopes > SCOPES_MAX) {
    findings.add(name, "scopes", String(key.scopes), `bits from 1 to ${SCOPES_MAX}`);
  }
}
