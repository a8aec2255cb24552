import type { PeerCosignature } from "@event-anchoring/control-contract";
import type { Certificate } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import { AwaitedHeads } from "../certification/awaited-heads.ts";
import { CertificateThinning } from "../certification/certificate-thinning.ts";
import { CosignatureExchange } from "../certification/cosignature-exchange.ts";
import { Certifier } from "../certification/certifier.ts";
import { LastLeaves } from "../certification/last-leaves.ts";
import { LinearizableReads } from "../certification/linearizable-reads.ts";
import type { Submission } from "../proposals/proposals.ts";
import type { Consensus } from "./consensus.ts";
import { Contradictions } from "./contradictions.ts";
import type { Life } from "./how-a-life-ends.ts";
import type { Membership } from "./membership.ts";
import type { SessionOptions } from "./session-options.ts";
import { SignedStates } from "./signed-states.ts";

/** A page of one origin's certificates this often: three origins are thinned faster than they are recorded. */
const THIN_EVERY_MS = 5000;
/** Evidence that an operator removes stops counting after at most this long. */
const EVIDENCE_LOOK_EVERY_MS = 5000;

export interface CertifyingParts {
  readonly consensus: Consensus;
  readonly membership: Membership;
  readonly life: Life;
  readonly submit: (submission: Submission) => void;
  /** This node has reached a head that no certificate covers. */
  readonly onUncovered: () => void;
  /** Enough cosignatures over a head are in hand. */
  readonly onCosigned: () => void;
}

/** What this node and its peers sign, whether they agree, and what may be answered as certified. */
export class Certifying {
  readonly certifier: Certifier;
  readonly exchange: CosignatureExchange;
  readonly contradictions: Contradictions;
  readonly lastLeaves: LastLeaves;
  readonly reads: LinearizableReads;
  readonly heads: AwaitedHeads;
  readonly states: SignedStates;
  readonly thinning: CertificateThinning;
  readonly #options: SessionOptions;
  readonly #membership: Membership;
  #thinnedMs: number;
  #evidenceMs: number;

  constructor(options: SessionOptions, parts: CertifyingParts) {
    const { state, environment } = options;
    const { consensus, membership, life, submit } = parts;
    this.#options = options;
    this.#membership = membership;
    this.#thinnedMs = environment.clock.monotonicMs();
    this.#evidenceMs = this.#thinnedMs;
    this.contradictions = new Contradictions(options, {
      membership,
      life,
      onReleased: (origin) => this.certifier.onReleased(origin),
    });
    this.states = new SignedStates(options, {
      membership,
      submit,
      onContradiction: (from, raftIndex) => this.contradictions.onStateDiffers(from, raftIndex),
      life,
      flushTables: () => consensus.tables.flush(),
    });
    this.exchange = this.#makeExchange(parts);
    this.certifier = this.#makeCertifier(parts);
    this.lastLeaves = new LastLeaves(state, (origin) => this.certifier.heldOf(origin));
    this.reads = new LinearizableReads({
      clock: environment.clock,
      state,
      rounds: consensus.rounds,
      certifier: this.certifier,
      lastLeaves: this.lastLeaves,
      hasLeader: () => consensus.hasLeader(),
      tables: consensus.tables,
    });
    this.heads = new AwaitedHeads({
      clock: environment.clock,
      certifier: this.certifier,
      comparison: this.contradictions.comparison,
      tables: consensus.tables,
      trustRootVersion: () => state.trustRootChain?.newest.trustRoot.version ?? 0,
    });
    this.thinning = new CertificateThinning({
      rows: options.certificateRows,
      kept: options.certificatesKept,
      origins: () => [...state.origins.values()].map(({ originFingerprint }) => originFingerprint),
      onFailure: (error) => life.fail(error),
    });
  }

  onCosignatures(from: string, items: readonly PeerCosignature[], asks: boolean): void {
    const { memories } = this.#membership.peers;
    for (const item of items) {
      // Not verified: a peer's false claim to have signed something is held against that peer alone.
      if (this.#options.state.origins.has(bytesToHex(item.originFingerprint))) memories.onCosignature(from, item);
    }
    this.contradictions.onPeerEffects(from, items);
    this.certifier.onCosignatures(from, items, asks);
  }

  /** The log records it. Its cosignatures are remembered too: their nodes must not come back without them. */
  onRecorded(certificate: Certificate): void {
    this.#membership.peers.memories.onCertificate(certificate);
    this.certifier.onRecorded(certificate);
  }

  /** Called periodically, for work that no client waits for. */
  look(): void {
    this.exchange.tellAll();
    this.certifier.certifyNewest();
    this.heads.look();
    const nowMs = this.#options.environment.clock.monotonicMs();
    if (nowMs - this.#evidenceMs >= EVIDENCE_LOOK_EVERY_MS) {
      this.#evidenceMs = nowMs;
      this.contradictions.look();
    }
    if (nowMs - this.#thinnedMs < THIN_EVERY_MS) return;
    this.#thinnedMs = nowMs;
    this.thinning.look();
  }

  /** Whether a sweep has anything to do. */
  get hasOpen(): boolean {
    return this.reads.hasOpen || this.contradictions.comparison.hasOpen;
  }

  /** Answers what is due. */
  sweep(): void {
    this.contradictions.comparison.sweep();
    this.reads.sweep();
  }

  close(): void {
    this.contradictions.comparison.close();
    this.reads.close();
    this.heads.close();
    this.certifier.close();
    this.states.close();
  }

  #makeExchange({ consensus, membership }: CertifyingParts): CosignatureExchange {
    const { identity, network } = this.#options;
    return new CosignatureExchange({
      nodeId: identity.nodeId,
      leader: () => consensus.leaderNodeId(),
      quorum: () => membership.trustRoot().quorum,
      broadcast: (items, asks) => {
        membership.broadcast({ type: "cosignatures", items, asks });
        network.flush();
      },
      sendTo: (nodeId, items) => {
        network.send(nodeId, "control", { type: "cosignatures", items, asks: false });
        network.flush();
      },
    });
  }

  #makeCertifier({ membership, life, onUncovered, onCosigned }: CertifyingParts): Certifier {
    const { environment, signatures, identity, promises, network, counts, state } = this.#options;
    const { group, peers } = membership;
    return new Certifier({
      clock: environment.clock,
      logger: environment.logger,
      crypto: signatures.crypto,
      state,
      nodeId: identity.nodeId,
      cosignerUnder: (root) => group.cosignerUnder(root),
      logSignerOf: identity.logSignerOf,
      promises,
      maySign: () => group.maySign(),
      exchange: this.exchange,
      sendTo: (nodeId, items) => network.send(nodeId, "control", { type: "cosignatures", items, asks: false }),
      onUncovered,
      onCosigned,
      onCertificate: (certificate) => peers.memories.onCertificate(certificate),
      comparison: this.contradictions.comparison,
      onRefused: (from) => counts.noteRefusedCosignature(from),
      onForgotten: (detail) => life.end({ kind: "fenced", code: "root_differs", detail }),
      onFailure: (error) => life.fail(error),
    });
  }
}
