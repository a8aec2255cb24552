import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { VerificationError } from "./errors.ts";
import type { MonitorState, MonitorStore } from "./monitor-store.ts";

/** That of `anchorctl monitor`: each goes on with what the other has seen. */
const FORMAT = "anchorctl/monitor/v1";

/** Keeps it in a small JSON file, which is replaced as a whole, and evidence beside it. One monitor for each file. */
export class FileMonitorStore implements MonitorStore {
  /** Where evidence goes. */
  readonly evidencePath: string;
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
    this.evidencePath = `${path}.alarm`;
  }

  /** @throws VerificationError `monitor_state_malformed`: a damaged memory is never taken for an empty one */
  async load(): Promise<MonitorState | null> {
    const text = await this.#read();
    if (text === null) return null;
    const state = parse(text);
    if (state === null) throw new VerificationError("monitor_state_malformed", `${this.#path} holds no monitor state`);
    return state;
  }

  async save({ clusterId, trustRoot: { version, rootThk }, checkpoints }: MonitorState): Promise<void> {
    const seen = { version, root_thk: rootThk };
    const state = { format: FORMAT, cluster_id: clusterId, trust_root: seen, origins: checkpoints };
    await writeWhole(this.#path, `${JSON.stringify(state, null, 2)}\n`);
  }

  async saveEvidence(notes: readonly string[]): Promise<void> {
    await writeWhole(this.evidencePath, notes.join("\n"));
  }

  async #read(): Promise<string | null> {
    try {
      return await readFile(this.#path, "utf8");
    } catch (error) {
      if (isRecord(error) && error["code"] === "ENOENT") return null;
      throw error;
    }
  }
}

/** Its own folder is made if there is none; an earlier file stays until the new one is complete. */
async function writeWhole(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  const draft = `${path}.${process.pid}.tmp`;
  const file = await open(draft, "w", 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

const isHex32 = (value: unknown): value is string => typeof value === "string" && /^[0-9a-f]{64}$/.test(value);

function parse(text: string): MonitorState | null {
  const value = parseJson(text);
  if (!isRecord(value) || value["format"] !== FORMAT) return null;
  const { cluster_id: clusterId, trust_root: seen, origins } = value;
  if (!isHex32(clusterId) || !isRecord(seen) || !isRecord(origins)) return null;
  const { version, root_thk: rootThk } = seen;
  if (typeof version !== "number" || !isHex32(rootThk)) return null;
  if (!Object.values(origins).every((note) => typeof note === "string")) return null;
  return { clusterId, trustRoot: { version, rootThk }, checkpoints: origins as Readonly<Record<string, string>> };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
