/** What can be checked of API keys and group ids without the entries that made them: their shape. */
import { LIMITS, apiKeyIdOf, scopesFromBits } from "@event-anchoring/ledger";
import type { ApiKey } from "@event-anchoring/ledger";
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
  /** "": no operator. */
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

export function operatorRow(operator: string): RowName {
  return { table: "state.operators", key: `operator ${operator}`, at: AFTER_ALL };
}

/** Reads a row whose shape has no difference. @param apiClientId 16 bytes */
export function apiKeyOf(stated: StatedApiKey, apiClientId: Uint8Array): ApiKey {
  const { keyId, keyHash, label, createdBy, endedBy, numbers } = stated;
  return {
    keyId,
    keyHash,
    apiClientId,
    label,
    scopes: scopesFromBits(stated.scopes),
    expiresMs: Number(numbers.expires_ms),
    requestsPerSecond: Number(numbers.requests_per_second),
    createdMs: Number(numbers.created_ms),
    revokedMs: Number(numbers.revoked_ms),
    createdBy: { operator: createdBy, counter: Number(numbers.created_counter) },
    endedBy: endedBy === "" ? null : { operator: endedBy, counter: Number(numbers.ended_counter) },
  };
}

/** Checks a text of printable ASCII, as the command that made the key must have had it. @returns whether it is one */
function judgeText(name: RowName, column: string, text: string, findings: Findings): boolean {
  const isText = PRINTABLE_ASCII.test(text) && text.length <= LIMITS.labelCharsMax;
  if (!isText) findings.add(name, column, JSON.stringify(text), "printable ASCII of a length that there can be");
  return isText;
}

function judgeOperator(name: RowName, column: string, operator: string, findings: Findings): boolean {
  const isName = isNodeId(operator);
  if (!isName) findings.add(name, column, JSON.stringify(operator), "the name of an operator");
  return isName;
}

function judgeNumber(name: RowName, column: string, value: Value, max: number, findings: Findings): boolean {
  const number = Number(value);
  const isNumber = Number.isSafeInteger(number) && number >= 0 && number <= max;
  if (!isNumber) findings.add(name, column, String(value), `an integer from 0 to ${max}`);
  return isNumber;
}

function judgeScopes(name: RowName, scopes: number, findings: Findings): boolean {
  const isSet = scopes >= 1 && scopes <= SCOPES_MAX;
  if (!isSet) findings.add(name, "scopes", String(scopes), `bits from 1 to ${SCOPES_MAX}`);
  return isSet;
}

/** The newest act of an operator. @param counter as text @returns whether it has no difference */
export function judgeOperatorAct(operator: string, counter: string, findings: Findings): boolean {
  const name = operatorRow(operator);
  const judged = [
    judgeOperator(name, "operator", operator, findings),
    judgeNumber(name, "counter", counter, Number.MAX_SAFE_INTEGER, findings),
  ];
  return judged.every(Boolean);
}

/** @returns whether it has no difference */
export function judgeApiKey(key: StatedApiKey, findings: Findings): boolean {
  const name = apiKeyRow(key.keyId);
  const { createdBy, endedBy } = key;
  const judged = [
    findings.compare(name, { key_id: key.keyId }, { key_id: apiKeyIdOf(key.keyHash) }),
    judgeText(name, "label", key.label, findings),
    judgeOperator(name, "created_by", createdBy, findings),
    endedBy === "" || judgeOperator(name, "ended_by", endedBy, findings),
    ...KEY_NUMBERS.map((column) => {
      const max = column === "requests_per_second" ? RATE_MAX : Number.MAX_SAFE_INTEGER;
      return judgeNumber(name, column, key.numbers[column], max, findings);
    }),
    judgeScopes(name, key.scopes, findings),
  ];
  return judged.every(Boolean);
}
