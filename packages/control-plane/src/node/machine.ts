import type { Crypto } from "@event-anchoring/protocol";
import type {
  InstallSnapshotOptions,
  InstalledSnapshot,
  ScrubWalkOptions,
  SignedStatePoint,
} from "@event-anchoring/store";
import type { RaftEngine } from "raft-ts";
import type { EvidenceFiles } from "../certification/evidence.ts";
import type { OpenStorage } from "../ports/storage.ts";
import type { PromiseVolume } from "../promises/promise-volume.ts";
import type { OpenScrub } from "../scrub/scrub.ts";
import type { OpenStateHold } from "../session/signed-states.ts";
import type { OpenExport } from "../snapshots/snapshot-exporter.ts";
import type { PeerNetwork, PeerNetworkOptions } from "../transport/network-types.ts";
import type { WitnessTransport } from "../witnessing/witness-transport.ts";

/**
 * What a node finds on the machine it runs on: database, promise volume, network, engine. In a simulator all of it is
 * in memory, and fails on demand.
 */
export interface Machine {
  /** The Ed25519 rule and SHA-256, on the event loop. */
  readonly crypto: Crypto;
  readonly promiseVolume: PromiseVolume;
  readonly evidence: EvidenceFiles;
  /** @throws StoreError */
  openStorage(onLost: (cause: Error) => void): Promise<OpenStorage>;
  createNetwork(options: PeerNetworkOptions): PeerNetwork;
  readonly witnessTransport: WitnessTransport;
  loadEngine(): Promise<Pick<RaftEngine, "createNode">>;
  /** A connection that can pin the tables as they are. @throws StoreError */
  openStateHold(): Promise<OpenStateHold>;
  /** The state at a held point. @throws StoreError */
  exportSnapshot(point: SignedStatePoint): Promise<OpenExport>;
  /** Absent: there are no tables to be scrubbed. @throws StoreError */
  readonly openScrub?: (options: Pick<ScrubWalkOptions, "ruleTable" | "heldChain">) => Promise<OpenScrub>;
  /** Log and ledger must be closed. @throws StoreError, and whatever a check throws */
  installSnapshot(options: Omit<InstallSnapshotOptions, "url">): Promise<InstalledSnapshot>;
}
