import { nodeCrypto } from "@event-anchoring/node-crypto";
import { ScrubWalk, StateHold, exportInProcess, installSnapshot } from "@event-anchoring/store";
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { RaftEngine } from "raft-ts";
import type { ControlPlaneConfig } from "../node/config.ts";
import type { Machine } from "../node/machine.ts";
import { PromiseFile } from "../promises/promise-file.ts";
import { createPeerNetwork } from "../transport/index.ts";
import { evidenceFolder } from "./evidence-folder.ts";
import { openStorage } from "./open-storage.ts";
import { httpWitnessTransport } from "./witness-http.ts";

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
    witnessTransport: httpWitnessTransport(),
    loadEngine: () => RaftEngine.load(),
    openStateHold: () => StateHold.open(url),
    exportSnapshot: async (point) => {
      mkdirSync(spoolDirectory, { recursive: true, mode: 0o700 });
      return exportInProcess({ url, directory: spoolDirectory, point });
    },
    openScrub: (options) => ScrubWalk.open({ url, statementTimeoutMs: SCRUB_STATEMENT_MS_MAX, ...options }),
    installSnapshot: (options) => installSnapshot({ url, ...options }),
  };
}
