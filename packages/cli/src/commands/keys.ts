import { SCOPES } from "@event-anchoring/ledger";
import type { Scope } from "@event-anchoring/ledger";
import { InvalidBytesError, bytesToHex, hexToBytes } from "@event-anchoring/protocol";
import { drawApiKey, drawReplacementApiKey, listApiKeys } from "@event-anchoring/provision";
import type { ApiKeyList, ListedApiKey, OperatorCall } from "@event-anchoring/control-contract";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import { actDone } from "./act-signer.ts";
import type { Acting } from "./act-signer.ts";
import { askNodes } from "../files/operators.ts";
import type { Operators } from "../files/operators.ts";
import type { Printer } from "../terminal/printer.ts";
import { alignColumns } from "../terminal/table.ts";
import { durationText } from "../terminal/time-options.ts";

export interface KeysOptions {
  readonly operators: Operators;
  readonly timeoutMs: number;
  readonly isJson: boolean;
  readonly nowMs: number;
  readonly printer: Printer;
  /** For all but the secret of a new key, unless a person looks at both. */
  readonly aside: Printer;
}

/** For what is written: an operator signs it. */
export interface ActOptions extends KeysOptions, Acting {}

export interface NewKeyOptions {
  readonly label: string;
  readonly scopes: readonly Scope[];
  /** 16 bytes; null: a new API client. */
  readonly apiClientId: Uint8Array | null;
  /** Unix milliseconds, 0 = never. */
  readonly expiresMs: number;
  /** Tokens a second at each node; 0 = as the nodes are configured. */
  readonly requestsPerSecond: number;
}

export interface RotationOptions {
  /** 16 bytes: the key that is replaced. */
  readonly keyId: Uint8Array;
  /** How long the old key stays good, milliseconds. */
  readonly overlapMs: number;
  /** When the new key ends, Unix milliseconds, 0 = never. */
  readonly expiresMs: number;
}

const KEY_ID_BYTES = 16;
/** The latest time that a Date can be. */
const LATEST_MS = 8_640_000_000_000_000;
const RATE_MAX = 0xffff_ffff;
/** Tokens a second of a new key, at each node: half of what a node of 2 vCPU has. docs/API.md, "Rates". */
export const RATE_DEFAULT = 500;
/** For --rate: none of its own. */
const RATE_OF_NODE = "node";
const LABEL = /^[\x20-\x7e]{1,128}$/u;

/** @throws CliError `usage` unless it is 32 hex digits */
export function parseId(what: string, text: string): Uint8Array {
  try {
    return hexToBytes(text.toLowerCase(), KEY_ID_BYTES);
  } catch (error) {
    if (!(error instanceof InvalidBytesError)) throw error;
    throw new CliError(EXIT.usage, "id_invalid", `${what} has 32 hex digits, not: ${text}`);
  }
}

/** Comma-separated, in the order of SCOPES. @throws CliError `usage` */
export function parseScopes(text: string): readonly Scope[] {
  const words = text.split(",").map((word) => word.trim());
  const scopes = SCOPES.filter((scope) => words.includes(scope));
  if (scopes.length > 0 && scopes.length === words.length) return scopes;
  const message = `--scopes takes some of ${SCOPES.join(",")}, each once, not: ${text}`;
  throw new CliError(EXIT.usage, "scopes_invalid", message);
}

/** @returns 0 for the rate that each node is configured with. @throws CliError `usage` */
export function parseRate(text: string): number {
  if (text === RATE_OF_NODE) return 0;
  const rate = Number(text);
  if (/^\d+$/u.test(text) && rate >= 1 && rate <= RATE_MAX) return rate;
  const message = `--rate takes a whole number of tokens a second, at least 1, or ${RATE_OF_NODE}`;
  throw new CliError(EXIT.usage, "rate_invalid", message);
}

/** @throws CliError `usage` */
export function parseLabel(text: string): string {
  if (LABEL.test(text)) return text;
  throw new CliError(EXIT.usage, "label_invalid", "--label takes 1 to 128 printable ASCII characters");
}

/** `anchorctl keys create`. The secret is drawn here, and no node sees it before it is first used. */
export async function createKeyCommand(key: NewKeyOptions, options: ActOptions): Promise<ExitCode> {
  const { label, scopes, expiresMs, requestsPerSecond } = key;
  const client = key.apiClientId === null ? {} : { apiClientId: key.apiClientId };
  const drawn = drawApiKey({ label, scopes, expiresMs, requestsPerSecond, ...client });
  await writeNew(drawn.keyId, options, drawn.call);
  const { keyId, apiClientId, apiKey } = drawn;
  show(options, apiKey, { keyId, apiClientId, label, scopes, expiresMs, requestsPerSecond }, {});
  return EXIT.ok;
}

/** `anchorctl keys list`: newest first. */
export async function listKeysCommand(options: KeysOptions): Promise<ExitCode> {
  const { keys, omitted } = await readKeys(options);
  if (options.isJson) {
    const listed = keys.map((key) => ({ ...keyJson(key), ...historyJson(key, options.nowMs) }));
    options.printer.json({ keys: listed, omitted });
    return EXIT.ok;
  }
  const heads = ["ID", "CLIENT", "LABEL", "SCOPES", "CREATED", "EXPIRES", "STATE", "RATE", "MADE BY", "ENDED BY"];
  const rows = keys.map((key) => [
    bytesToHex(key.keyId),
    bytesToHex(key.apiClientId),
    key.label,
    key.scopes.join(","),
    timeText(key.createdMs),
    key.expiresMs === 0 ? "never" : timeText(key.expiresMs),
    stateOf(key, options.nowMs),
    key.requestsPerSecond === 0 ? RATE_OF_NODE : `${key.requestsPerSecond}/s`,
    actText(key.createdBy),
    actText(key.endedBy),
  ]);
  for (const line of alignColumns([heads, ...rows])) options.printer.line(line);
  if (omitted > 0) options.aside.line(`${omitted} older keys are left out.`);
  return EXIT.ok;
}

/** `anchorctl keys revoke`: powerless on every node from its place in the log on. */
export async function revokeKeyCommand(keyId: Uint8Array, options: ActOptions): Promise<ExitCode> {
  const { printer, isJson } = options;
  const { outcome } = await actDone({ kind: "revoke_api_key", keyId }, options);
  const id = bytesToHex(keyId);
  if (isJson) printer.json({ key_id: id, revoked: true, changed: outcome === "applied" });
  else printer.verdict("pass", outcome === "applied" ? `Key ${id} is revoked.` : `Key ${id} was revoked before.`);
  return EXIT.ok;
}

/** `anchorctl keys rotate`: a new secret for the same client, label, scopes and rate; the old one ends later. */
export async function rotateKeyCommand(
  { keyId, overlapMs, expiresMs }: RotationOptions,
  options: ActOptions,
): Promise<ExitCode> {
  const old = (await readKeys(options)).keys.find((key) => bytesToHex(key.keyId) === bytesToHex(keyId));
  if (old === undefined) {
    throw new CliError(EXIT.refused, "api_key_unknown", `no key has the id ${bytesToHex(keyId)}`);
  }
  const drawn = drawReplacementApiKey({ keyId, overlapMs, expiresMs });
  await writeNew(drawn.keyId, options, drawn.call);
  show(options, drawn.apiKey, { ...old, keyId: drawn.keyId, expiresMs }, { replaces: keyId, overlapMs });
  return EXIT.ok;
}

type ListedApiKeys = Extract<ApiKeyList, { readonly outcome: "listed" }>;

async function readKeys({ operators, timeoutMs }: KeysOptions): Promise<ListedApiKeys> {
  const result = await askNodes(operators, timeoutMs, listApiKeys, (given) =>
    given.outcome === "refused" ? `${given.code}: ${given.detail}` : null,
  );
  if (result.outcome === "listed") return result;
  throw new CliError(EXIT.unavailable, result.code, result.detail);
}

/** While it is unknown whether the key exists, its secret is not shown. */
async function writeNew(keyId: Uint8Array, options: ActOptions, call: OperatorCall): Promise<void> {
  try {
    await actDone(call, options);
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== EXIT.unavailable) throw error;
    const next = `If anchorctl keys list shows ${bytesToHex(keyId)}, revoke it: its secret is gone. Then try again.`;
    throw new CliError(EXIT.unavailable, error.code, `${error.message}\n${next}`, error);
  }
}

type ShownKey = Pick<ListedApiKey, "keyId" | "apiClientId" | "label" | "scopes" | "expiresMs" | "requestsPerSecond">;

function show(
  { printer, aside, isJson }: KeysOptions,
  apiKey: string,
  key: ShownKey,
  rotation: { readonly replaces?: Uint8Array; readonly overlapMs?: number },
): void {
  const { replaces, overlapMs = 0 } = rotation;
  if (isJson) {
    const old = replaces === undefined ? {} : { replaces: bytesToHex(replaces), overlap_ms: overlapMs };
    printer.json({ api_key: apiKey, ...keyJson(key), ...old });
    return;
  }
  aside.check("pass", "key", bytesToHex(key.keyId));
  aside.check("skip", "client", bytesToHex(key.apiClientId));
  aside.check("skip", "label", key.label);
  aside.check("skip", "scopes", key.scopes.join(","));
  aside.check("skip", "expires", key.expiresMs === 0 ? "never" : timeText(key.expiresMs));
  aside.check("skip", "rate", rateText(key.requestsPerSecond));
  if (replaces !== undefined) {
    aside.check("warn", "replaces", `${bytesToHex(replaces)}, which stays good for ${durationText(overlapMs)} at most`);
  }
  aside.line("The secret is shown this once; the cluster knows its hash only:");
  printer.line(apiKey);
}

function keyJson(key: ShownKey): object {
  return {
    key_id: bytesToHex(key.keyId),
    api_client_id: bytesToHex(key.apiClientId),
    label: key.label,
    scopes: key.scopes,
    expires_at: key.expiresMs === 0 ? null : timeText(key.expiresMs),
    requests_per_second: key.requestsPerSecond === 0 ? null : key.requestsPerSecond,
  };
}

function historyJson(key: ListedApiKey, nowMs: number): object {
  return {
    created_at: timeText(key.createdMs),
    revoked_at: key.revokedMs === 0 ? null : timeText(key.revokedMs),
    state: stateOf(key, nowMs),
    created_by: actJson(key.createdBy),
    ended_by: key.endedBy === null ? null : actJson(key.endedBy),
  };
}

function actJson({ operator, counter }: ListedApiKey["createdBy"]): object {
  return { operator, counter };
}

/** As in `alice 1795331730123`: who, and which of their acts. */
function actText(done: ListedApiKey["endedBy"]): string {
  return done === null ? "" : `${done.operator} ${done.counter}`;
}

/** As this machine's clock sees it; what counts is the time of the log. */
function stateOf(key: ListedApiKey, nowMs: number): "live" | "revoked" | "expired" {
  if (key.revokedMs !== 0) return "revoked";
  return key.expiresMs !== 0 && nowMs >= key.expiresMs ? "expired" : "live";
}

function rateText(requestsPerSecond: number): string {
  return requestsPerSecond === 0 ? "as each node is configured" : `${requestsPerSecond} tokens/s at each node`;
}

/** RFC 3339, or the number where the calendar ends. */
function timeText(ms: number): string {
  return ms > LATEST_MS ? `${ms} ms` : new Date(ms).toISOString();
}
