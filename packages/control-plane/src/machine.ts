import type { RuleTable } from "@event-anchoring/ledger";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Crypto } from "@event-anchoring/protocol";
import {
  type InstallSnapshotOptions,
  type InstalledSnapshot,
  ScrubWalk,
  type SignedStatePoint,
  type SnapshotExport,
  StateHold,
  exportSnapshot,
  installSnapshot,
} from "@event-anchoring/store";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { RaftEngine } from "raft-ts";
import type { ControlPlaneConfig } from "./config.ts";
import { PromiseFile, type OpenedPromiseFile, type Promises } from "./promises/promise-file.ts";
import type { OpenScrub } from "./scrub/scrub.ts";
import type { EvidenceFiles } from "./certification/evidence.ts";
import { evidenceFolder } from "./certification/evidence-folder.ts";
import { type OpenStorage, openStorage } from "./storage.ts";
import type { OpenStateHold } from "./state-heads/session-states.ts";
import { createPeerNetwork } from "./transport/index.ts";
import type { PeerNetwork, PeerNetworkOptions } from "./transport/network-types.ts";

/** Where the promise file lives: another volume than the database's. */
export interface PromiseVolume {
  /** @throws PromiseFileError `missing`, `torn`, `foreign`, `mode`, `locked`, `unusable` */
  open(): Promise<Omit<OpenedPromiseFile, "file"> & { readonly file: OpenPromiseFile }>;
  /** @throws PromiseFileError `exists`, `locked` */
  create(promises: Promises): Promise<OpenPromiseFile>;
}

export type OpenPromiseFile = Pick<PromiseFile, "current" | "save" | "close">;

/** A state on its way to a peer. */
export type OpenExport = Pick<SnapshotExport, "manifest" | "chunk" | "close">;

/**
 * What a node finds on the machine it runs on: database, promise volume, network, engine. In a simulator all of it is
 * memory, and fails when it is told to.
 */
export interface Machine {
  /** The Ed25519 rule and SHA-256, on the event loop. */
  readonly crypto: Crypto;
  readonly promiseVolume: PromiseVolume;
  readonly evidence: EvidenceFiles;
  /** @throws StoreError */
  openStorage(onLost: (cause: Error) => void): Promise<OpenStorage>;
  createNetwork(options: PeerNetworkOptions): PeerNetwork;
  loadEngine(): Promise<Pick<RaftEngine, "createNode">>;
  /** A connection by which the tables can be pinned as they are. @throws StoreError */
  openStateHold(): Promise<OpenStateHold>;
  /** The state at a point that is held. @throws StoreError */
  exportSnapshot(point: SignedStatePoint): Promise<OpenExport>;
  /** Absent: there are no tables to be scrubbed. @throws StoreError */
  readonly openScrub?: (ruleTable: RuleTable) => Promise<OpenScrub>;
  /** Log and ledger must be closed. @throws StoreError, and whatever a check throws */
  installSnapshot(options: Omit<InstallSnapshotOptions, "url">): Promise<InstalledSnapshot>;
}

const SCRUB_STATEMENT_MS_MAX = 30_000;

/** Postgres, a file, sockets and the shipped engine. */
export function systemMachine(config: ControlPlaneConfig): Machine {
  const { database_url: url, read_only_role: readOnlyRole, promise_file: promisePath, run_dir: runDir } = config;
  const spoolDirectory = join(runDir, "snapshots");
  return {
    crypto: nodeCrypto,
    promiseVolume: {
      open: () => PromiseFile.open(promisePath),
      create: (promises) => PromiseFile.create(promisePath, promises),
    },
    evidence: evidenceFolder(join(dirname(promisePath), "evidence")),
    openStorage: (onLost) => openStorage({ url, readOnlyRole, onLost }),
    createNetwork: createPeerNetwork,
    loadEngine: () => RaftEngine.load(),
    openStateHold: () => StateHold.open(url),
    exportSnapshot: async (point) => {
      mkdirSync(spoolDirectory, { recursive: true, mode: 0o700 });
      return exportSnapshot({ url, directory: spoolDirectory, point });
    },
    openScrub: (ruleTable) => ScrubWalk.open({ url, statementTimeoutMs: SCRUB_STATEMENT_MS_MAX, ruleTable }),
    installSnapshot: (options) => installSnapshot({ url, ...options }),
  };
}
