import type { SessionEnd } from "./how-a-life-ends.ts";
import type { Certificate, LedgerState } from "@event-anchoring/ledger";
import type { NodeCounts } from "./node-counts.ts";
import type { SignatureVerifier } from "../signatures/signature-verifier.ts";
import type { ConfState, HardState, RaftIndex, RawNode } from "raft-ts";
import type { LeaderQueueOptions } from "../proposals/leader-queue.ts";
import type { TableStorage } from "../raft/table-lane.ts";
import type { Environment } from "../ports/environment.ts";
import type { KnownTrustRoot } from "../membership/known-trust-root.ts";
import type { NodeIdentity } from "../ports/identity.ts";
import type { PayloadCache } from "../raft/payload-cache.ts";
import type { PromiseKeeper } from "../promises/promises.ts";
import type { LoadedWitnessedHeads, Restoration } from "@event-anchoring/store";
import type { EvidenceFiles } from "../certification/evidence.ts";
import type { CertificateRows } from "../certification/certificate-thinning.ts";
import type { LogSizes } from "../raft/log-sizes.ts";
import type { SessionNetwork } from "../transport/network-types.ts";
import type { PeerOffences } from "./peer-offences.ts";
import type { LedgerStorage, RaftLogStorage, WitnessedHeadStorage } from "../ports/storage.ts";
import type { WitnessTransport } from "../witnessing/witness-transport.ts";

export interface SessionOptions {
  readonly environment: Environment;
  readonly identity: NodeIdentity;
  /** Belongs to the process: what is learnt outlives a session. */
  readonly known: KnownTrustRoot;
  /** Belongs to the process: verdicts outlive a session. */
  readonly signatures: SignatureVerifier;
  /** Counts of the process: they outlive the session. */
  readonly counts: NodeCounts;
  /** Wraps the leader's queue, to observe it. */
  readonly aroundQueue: (options: LeaderQueueOptions) => LeaderQueueOptions;
  readonly node: RawNode;
  readonly hardState: HardState;
  readonly confState: ConfState;
  /** Sizes of the log as it was loaded. */
  readonly logSizes: LogSizes;
  readonly state: LedgerState;
  /** Root of the state tree in the tables. */
  readonly stateRoot: Uint8Array;
  /** By the tables, the log must not keep this entry, nor any before it; 0: none. */
  readonly forgetLogTo: RaftIndex;
  /** The newest recorded certificate of each origin. */
  readonly recorded: readonly Certificate[];
  readonly cache: PayloadCache;
  readonly log: RaftLogStorage;
  readonly tables: TableStorage;
  readonly certificateRows: CertificateRows;
  /** Every size that the origins have had, from the database. */
  readonly trees: Pick<LedgerStorage, "rootAt">;
  /** What witnesses have cosigned: where it is kept, and what was kept when the session was created. */
  readonly witnessedHeads: { readonly storage: WitnessedHeadStorage; readonly loaded: LoadedWitnessedHeads["heads"] };
  readonly witnessTransport: WitnessTransport;
  readonly promises: PromiseKeeper;
  /** Belongs to the process: a peer that is cut off stays so over a reload. */
  readonly offences: PeerOffences;
  readonly network: SessionNetwork;
  readonly logEntriesKept: number;
  readonly logBytesKept: number;
  /** This many of the newest recorded certificates of each origin all stay. */
  readonly certificatesKept: number;
  /** The highest rules that this node lets the cluster raise to; null: all that it knows. */
  readonly rulesHeldAt: number | null;
  /** A follower is being handed the state after this entry: what follows must stay. */
  readonly pinnedIndex: () => RaftIndex | null;
  /** Which backup the database began from; absent or null: none. */
  readonly restoration?: Restoration | null;
  /** Evidence of contradictions, on the promise volume. */
  readonly evidence: EvidenceFiles;
  /** The evidence it held when the session was created. */
  readonly evidenceKept: ReadonlyMap<string, string>;
  readonly onEnd: (end: SessionEnd) => void;
}
