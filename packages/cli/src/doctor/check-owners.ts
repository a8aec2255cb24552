/** Whether each process can read its own files: those that nobody else may read must belong to its account. */
import { dirname, join } from "node:path";
import type { ControlPlaneSettings } from "@event-anchoring/control-contract";
import { IDENTITY_FILES } from "./check-identity.ts";
import type { Host } from "./host.ts";
import { finding } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";
import type { ApiSettings } from "./node-files.ts";

const ROOT = 0;
const OTHERS_MAY_READ = 0o077;

/** Paths of the settings that doctor was given, or has found. */
interface SettingsFiles {
  readonly controlPlane: string;
  readonly api: string | null;
}

export function checkOwners(
  host: Host,
  files: SettingsFiles,
  settings: ControlPlaneSettings,
  api: ApiSettings | null,
): Finding[] {
  const { identity_dir: identityDir, promise_file: promiseFile } = settings;
  const own = [files.controlPlane, ...IDENTITY_FILES.map((name) => join(identityDir, name)), promiseFile];
  // Its process writes there.
  const found = strangersAmong(host, own, dirname(promiseFile));
  if (files.api === null || api === null) return found;
  const pins = api.identity_dir === undefined ? [] : [join(api.identity_dir, "root-thk.txt")];
  const tls = api.tls === undefined ? [] : [api.tls.certificate, api.tls.key];
  return [...found, ...strangersAmong(host, [files.api, ...pins, ...tls], dirname(files.api))];
}

/** One finding for all: they were copied or unpacked together. */
function strangersAmong(host: Host, paths: readonly string[], folderOfProcess: string): Finding[] {
  const account = host.fileState(folderOfProcess)?.owner ?? ROOT;
  // A folder of root's says nothing about the account.
  if (account === ROOT) return [];
  const strangers = paths.flatMap((path) => {
    const state = host.fileState(path);
    const isReadable = state === null || state.owner === account || (state.mode & OTHERS_MAY_READ) !== 0;
    return isReadable ? [] : [{ path, owner: state.owner }];
  });
  const [first] = strangers;
  if (first === undefined) return [];
  const more = strangers.length === 1 ? "belongs" : `and ${strangers.length - 1} more belong`;
  const text = `${first.path} ${more} to user ${first.owner}, their process is user ${account}: chown ${account}`;
  return [finding("owner_wrong", text)];
}
