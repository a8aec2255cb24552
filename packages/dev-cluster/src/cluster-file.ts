import { readFileSync } from "node:fs";
import { hasCode } from "@event-anchoring/provision";
import { writeAtomically } from "./write-atomically.ts";

export interface ClusterFileNode {
  readonly id: string;
  /** Without a trailing slash. */
  readonly api_url: string;
  /** URL of the private Prometheus listener, with its path. */
  readonly metrics_url: string;
  /** `host:port` of the control plane; mutual TLS. */
  readonly control_address: string;
  /** 64 hex digits. */
  readonly origin_fingerprint: string;
  /** As a witness of other logs: its verifier key, and the URL that a trust root lists; null: it witnesses none. */
  readonly witness: { readonly vkey: string; readonly url: string } | null;
  /** Null while a process is down. */
  readonly pids: {
    readonly api: number | null;
    readonly control_plane: number | null;
    readonly postgres: number | null;
  };
}

/** `cluster.json`: all that tools and tests need to find a running cluster. Holds an API key, hence 0600. */
export interface ClusterFile {
  readonly state: "starting" | "running" | "stopped";
  /** Null until the first start has made it. */
  readonly api_key: string | null;
  readonly trust_root: {
    readonly version: number;
    /** 64 hex digits. */
    readonly root_thk: string;
    /** The signed note. */
    readonly document: string;
  };
  /** Where the database directories are. */
  readonly postgres_dir: string;
  readonly nodes: readonly ClusterFileNode[];
}

export function writeClusterFile(path: string, file: ClusterFile): void {
  writeAtomically(path, `${JSON.stringify(file, null, 2)}\n`);
}

/** Null when there is none. What it says is a hint from an earlier run, except the API key. */
export function readClusterFile(path: string): ClusterFile | null {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (hasCode(error, "ENOENT")) return null;
    throw error;
  }
  const value: unknown = JSON.parse(text);
  if (isClusterFile(value)) return value;
  throw new Error(`${path} is not a cluster file; delete it, and the next start writes a new one`);
}

function isClusterFile(value: unknown): value is ClusterFile {
  return (
    isRecord(value) &&
    (value.api_key === null || typeof value.api_key === "string") &&
    isRecord(value.trust_root) &&
    typeof value.trust_root.document === "string" &&
    Array.isArray(value.nodes) &&
    value.nodes.every(isNode)
  );
}

function isNode(value: unknown): value is ClusterFileNode {
  return (
    isRecord(value) &&
    ["id", "api_url", "metrics_url", "control_address", "origin_fingerprint"].every(
      (name) => typeof value[name] === "string",
    ) &&
    isRecord(value.pids)
  );
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
