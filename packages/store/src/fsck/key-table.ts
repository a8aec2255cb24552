/** What can be said of API keys and group ids without the entries that made them: their shape. */
import { LIMITS, apiKeyIdOf } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Findings, RowName, Value } from "./findings.ts";

/** Numbers as text: a damaged one may be anything. */
export interface StatedApiKey {
  readonly keyId: Uint8Array;
  readonly keyHash: Uint8Array;
  readonly label: string;
  readonly operator: string;
  readonly numbers: Readonly<Record<"expires_ms" | "requests_per_second" | "created_ms" | "revoked_ms", string>>;
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

function judgeNumber(name: RowName, column: string, value: Value, max: number, findings: Findings): void {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number >= 0 && number <= max) return;
  findings.add(name, column, String(value), `an integer from 0 to ${max}`);
}

export function judgeApiKey(key: StatedApiKey, findings: Findings): void {
  const name = apiKeyRow(key.keyId);
  findings.compare(name, { key_id: key.keyId }, { key_id: apiKeyIdOf(key.keyHash) });
  judgeText(name, "label", key.label, 0, findings);
  judgeText(name, "operator", key.operator, 1, findings);
  for (const [column, value] of Object.entries(key.numbers)) {
    judgeNumber(name, column, value, column === "requests_per_second" ? RATE_MAX : Number.MAX_SAFE_INTEGER, findings);
  }
  if (key.scopes < 1 || key.scopes > SCOPES_MAX) {
    findings.add(name, "scopes", String(key.scopes), `bits from 1 to ${SCOPES_MAX}`);
  }
}
