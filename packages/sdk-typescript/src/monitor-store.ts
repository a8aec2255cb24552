import { open, readFile, rename } from "node:fs/promises";
import { VerificationError } from "./errors.ts";

/** What a Monitor has to remember between its runs. */
export interface MonitorState {
  /** The highest trust root seen. */
  readonly trustRoot: { readonly version: number; readonly rootThk: string };
  /** By origin fingerprint: the signed note of the newest checkpoint that was seen and verified. */
  readonly checkpoints: Readonly<Record<string, string>>;
}

/** Where it is kept. Whoever can set it back can hide a rollback, so it does not belong beside the service. */
export interface MonitorStore {
  /** null: nothing was saved yet. */
  load(): Promise<MonitorState | null>;
  /** Resolves once it would survive the end of this process. */
  save(state: MonitorState): Promise<void>;
}

/** Keeps it as long as the process lives. */
export class MemoryMonitorStore implements MonitorStore {
  #state: MonitorState | null = null;

  load(): Promise<MonitorState | null> {
    return Promise.resolve(this.#state);
  }

  save(state: MonitorState): Promise<void> {
    this.#state = state;
    return Promise.resolve();
  }
}

/** Keeps it in a small JSON file, which is replaced as a whole. One monitor for each file. */
export class FileMonitorStore implements MonitorStore {
  readonly #path: string;

  constructor(path: string) {
    this.#path = path;
  }

  /** @throws VerificationError `monitor_state_malformed`: a damaged memory is never taken for an empty one */
  async load(): Promise<MonitorState | null> {
    const text = await this.#read();
    if (text === null) return null;
    const state = parse(text);
    if (state === null) throw new VerificationError("monitor_state_malformed", `${this.#path} holds no monitor state`);
    return state;
  }

  async save(state: MonitorState): Promise<void> {
    const draft = `${this.#path}.${process.pid}.tmp`;
    const file = await open(draft, "w", 0o600);
    try {
      await file.writeFile(`${JSON.stringify(state, null, 2)}\n`);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(draft, this.#path);
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

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function parse(text: string): MonitorState | null {
  const value = parseJson(text);
  if (!isRecord(value) || !isRecord(value["trustRoot"]) || !isRecord(value["checkpoints"])) return null;
  const { version, rootThk } = value["trustRoot"];
  const isSeen = typeof version === "number" && typeof rootThk === "string" && /^[0-9a-f]{64}$/.test(rootThk);
  const notes = Object.entries(value["checkpoints"]);
  if (!isSeen || !notes.every(([, note]) => typeof note === "string")) return null;
  return { trustRoot: { version, rootThk }, checkpoints: value["checkpoints"] as Readonly<Record<string, string>> };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}
