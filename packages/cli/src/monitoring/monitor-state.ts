/** The last heads that a monitor has seen of a cluster, in one small file that is replaced as a whole. */
import { existsSync, mkdirSync } from "node:fs";
import { dirname } from "node:path";
import {
  CheckpointError,
  NoteError,
  bytesToHex,
  hexToBytes,
  parseCheckpoint,
  parseNote,
} from "@event-anchoring/protocol";
import { CliError, EXIT } from "../cli-error.ts";
import { isRecord } from "../nearest-cluster.ts";
import { asCliError, readText, writeWhole } from "../read-input.ts";

const FORMAT = "anchorctl/monitor/v1";
const STATE_BYTES_MAX = 16 * 1024 * 1024;

export interface SeenHead {
  readonly treeSize: number;
  /** 32 bytes. */
  readonly rootHash: Uint8Array;
  /** The signed note: what is held against whoever signs another tree. */
  readonly checkpoint: string;
}

export interface MonitorState {
  /** By origin fingerprint, 64 hex digits. */
  readonly heads: ReadonlyMap<string, SeenHead>;
  /** The highest trust root seen; null: none. */
  readonly trustRoot: { readonly version: number; readonly rootThk: Uint8Array } | null;
}

const EMPTY: MonitorState = { heads: new Map(), trustRoot: null };

/**
 * @param clusterId 64 hex digits, of the trust root that is held here: never what a service says of itself
 * @throws CliError `state_malformed`: a file that is damaged is never taken for an empty one;
 *   `state_of_another_cluster`: what one cluster has shown says nothing about another
 */
export function readMonitorState(path: string, clusterId: string): MonitorState {
  if (!existsSync(path)) return EMPTY;
  const damaged = new CliError(EXIT.usage, "state_malformed", `${path} is no state of anchorctl monitor (${FORMAT})`);
  const text = readText(path, STATE_BYTES_MAX);
  try {
    const value: unknown = JSON.parse(text);
    if (!isRecord(value) || value.format !== FORMAT || !isRecord(value.origins)) throw damaged;
    if (value.cluster_id !== clusterId) {
      const found = `${path} is the state of cluster ${String(value.cluster_id)}`;
      const message = `${found}, and the trust root is that of ${clusterId}: give another --state`;
      throw new CliError(EXIT.usage, "state_of_another_cluster", message);
    }
    const heads = Object.entries(value.origins).map(([origin, note]) => {
      if (typeof note !== "string") throw damaged;
      return [origin, headOf(note)] as const;
    });
    return { heads: new Map(heads), trustRoot: trustRootOf(value.trust_root) };
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw damaged;
  }
}

function trustRootOf(value: unknown): MonitorState["trustRoot"] {
  if (value === null) return null;
  if (!isRecord(value) || typeof value.version !== "number" || typeof value.root_thk !== "string") {
    throw new TypeError("no trust root");
  }
  return { version: value.version, rootThk: hexToBytes(value.root_thk, 32) };
}

/** @throws NoteError, CheckpointError */
export function headOf(note: string): SeenHead {
  const { treeSize, rootHash } = parseCheckpoint(parseNote(note).text);
  return { treeSize, rootHash, checkpoint: note };
}

/** Null for what is no checkpoint. */
export function headOrNull(note: string): SeenHead | null {
  try {
    return headOf(note);
  } catch (error) {
    if (error instanceof NoteError || error instanceof CheckpointError) return null;
    throw error;
  }
}

export function writeMonitorState(path: string, clusterId: string, { heads, trustRoot }: MonitorState): void {
  const origins = Object.fromEntries([...heads].map(([origin, { checkpoint }]) => [origin, checkpoint]));
  const seen = trustRoot === null ? null : { version: trustRoot.version, root_thk: bytesToHex(trustRoot.rootThk) };
  try {
    mkdirSync(dirname(path), { recursive: true });
  } catch (error) {
    throw asCliError(path, "write", error);
  }
  const state = { format: FORMAT, cluster_id: clusterId, trust_root: seen, origins };
  writeWhole(path, `${JSON.stringify(state, null, 2)}\n`);
}
