/** The settings and the trust roots of the node that doctor looks at, as far as they can be read. */
import { dirname, join } from "node:path";
import { API_SETTINGS, CONTROL_PLANE_SETTINGS, SettingsError, readSettings } from "@event-anchoring/control-contract";
import type { ControlPlaneSettings, SettingsShape } from "@event-anchoring/control-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { hexToBytes, verifyTrustRootChain } from "@event-anchoring/protocol";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { Host } from "./host.ts";
import { finding } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";

export type ApiSettings = ReturnType<typeof API_SETTINGS.schema.parse>;

const OTHERS_MAY_READ = 0o077;
/** What a code of the system says to a person. */
const REASONS: Readonly<Record<string, string>> = {
  EISDIR: "it is a folder",
  ENOENT: "there is no such file",
  EACCES: "this account may not read it; run doctor as root",
};

export interface ReadPart<Value> {
  /** null: it cannot be used, and a finding says why. */
  readonly value: Value | null;
  readonly findings: readonly Finding[];
}

export function readControlPlaneSettings(host: Host, path: string): ReadPart<ControlPlaneSettings> {
  return settingsAt(host, path, CONTROL_PLANE_SETTINGS);
}

export function readApiSettings(host: Host, path: string): ReadPart<ApiSettings> {
  return settingsAt(host, path, API_SETTINGS);
}

function settingsAt<Schema extends SettingsShape["schema"]>(
  host: Host,
  path: string,
  shape: SettingsShape<Schema>,
): ReadPart<ReturnType<typeof readSettings<Schema>>> {
  const state = host.fileState(path);
  const text = readTextAt(host, path);
  if (text.value === null) return { value: null, findings: [finding("settings_unreadable", text.reason)] };
  const findings: Finding[] = [];
  if (state !== null && (state.mode & OTHERS_MAY_READ) !== 0) {
    findings.push(finding("settings_open", `others can read ${path}: chmod 600 it`));
  }
  try {
    return { value: readSettings(shape, { path, text: text.value, environment: host.environment }), findings };
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error;
    return { value: null, findings: [...findings, ...error.faults.map((fault) => finding("settings_wrong", fault))] };
  }
}

/** A file's text, or why it cannot be read. */
export type TextAt = { readonly value: string } | { readonly value: null; readonly reason: string };

export function readTextAt(host: Host, path: string): TextAt {
  try {
    return { value: Buffer.from(host.read(path)).toString("utf8") };
  } catch (error) {
    const code = typeof error === "object" && error !== null && "code" in error ? String(error.code) : "unknown";
    return { value: null, reason: `cannot read ${path}: ${REASONS[code] ?? code}` };
  }
}

/** 32 bytes from a file of 64 hex digits; null: they are not there. */
export function readHex32(host: Host, path: string): Uint8Array | null {
  const text = readTextAt(host, path).value?.trimEnd() ?? "";
  return /^[0-9a-f]{64}$/u.test(text) ? hexToBytes(text, 32) : null;
}

const LATER_DOCUMENT = /^trust-root-([1-9][0-9]{0,9})\.txt$/u;

/** The trust roots in a node's identity folder, from its pin. */
export function readTrustRoots(host: Host, identityDir: string): ReadPart<TrustRootChain> {
  const later = host.names(identityDir).flatMap((name) => {
    const [, version] = LATER_DOCUMENT.exec(name) ?? [];
    return version === undefined ? [] : [Number(version)];
  });
  const names = ["trust-root.txt", ...later.toSorted((a, b) => a - b).map((version) => `trust-root-${version}.txt`)];
  const texts = names.map((name) => readTextAt(host, join(identityDir, name)));
  const documents = texts.flatMap(({ value }) => (value === null ? [] : [value]));
  const pinFile = join(identityDir, "root-thk.txt");
  const pinnedRootThk = readHex32(host, pinFile);
  // What is missing is named with the other files of the folder.
  if (documents.length < names.length || pinnedRootThk === null) return { value: null, findings: [] };
  const verified = verifyTrustRootChain({ documents, pinnedRootThk }, nodeCrypto);
  if (verified.result === "verified") return { value: verified.chain, findings: [] };
  const { code, detail, position } = verified;
  const name = names[position] ?? identityDir;
  if (code === "pin_mismatch") {
    const message = `${pinFile} does not pin ${name} beside it: one of the two is of another cluster or ceremony`;
    return { value: null, findings: [finding("pin_stale", message)] };
  }
  return { value: null, findings: [finding("trust_root_refused", `${join(identityDir, name)}: ${code}: ${detail}`)] };
}

/** The nearest folder above a file that exists: what its disk will be. */
export function nearestFolder(host: Host, path: string): string {
  for (let folder = dirname(path); ; folder = dirname(folder)) {
    if (host.fileState(folder) !== null || folder === dirname(folder)) return folder;
  }
}
