import { WITNESSED_HEADS_MAX, type WitnessedHead } from "@event-anchoring/control-contract";
import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import { AwaitedHeads, type HeadRequest } from "../certification/awaited-heads.ts";
import type { HeldCertificate } from "../certification/certifier.ts";
import { WitnessDelays } from "../witnessing/witness-delays.ts";
import { WitnessLane } from "../witnessing/witness-lane.ts";
import { WitnessOffers } from "../witnessing/witness-offers.ts";
import { WitnessedHeads } from "../witnessing/witnessed-heads.ts";
import type { Certifying } from "./certifying.ts";
import type { Consensus } from "./consensus.ts";
import type { Life } from "./how-a-life-ends.ts";
import type { Membership } from "./membership.ts";
import type { SessionOptions } from "./session-options.ts";

export interface WitnessingParts {
  readonly consensus: Consensus;
  readonly membership: Membership;
  readonly certifying: Certifying;
  readonly life: Life;
}

/**
 * What witnesses outside the cluster have cosigned: the leader asks them, every node keeps what they have signed, and
 * readers who prefer it wait for it. It takes certificates from `Certifying`; no write takes anything from it.
 */
export class Witnessing {
  readonly heads: WitnessedHeads;
  readonly delays: WitnessDelays;
  readonly lane: WitnessLane;
  readonly #offers: WitnessOffers;
  readonly #awaited: AwaitedHeads;
  readonly #options: SessionOptions;
  readonly #parts: WitnessingParts;

  constructor(options: SessionOptions, parts: WitnessingParts) {
    const { environment, state, signatures, witnessedHeads, identity, trees, counts } = options;
    const { consensus, membership, certifying, life } = parts;
    const { clock, logger, random } = environment;
    const { comparison } = certifying.contradictions;
    const { crypto } = signatures;
    const trustRoot = () => membership.trustRoot();
    this.#options = options;
    this.#parts = parts;
    this.heads = new WitnessedHeads({
      logger,
      sha256: crypto.sha256,
      storage: witnessedHeads.storage,
      trustRoot,
      onKept: (origin) => consensus.isLeader() && this.#tellAll(origin),
      onWitnessed: () => this.#awaited.look(),
    });
    const { heads } = this;
    this.delays = new WitnessDelays({ clock, trustRoot, state, headOf: (origin) => this.headOf(origin), heads });
    this.#offers = new WitnessOffers({
      crypto,
      state,
      logSignerOf: identity.logSignerOf,
      trustRoot,
      rootAt: (origin, treeSize) => trees.rootAt(origin, treeSize),
      heads,
      isNamed: (root, nodeId) => comparison.isNamed(root, nodeId),
      lastSizeOfLost: (origin) => this.#lastSizeOfLost(origin),
      onFailure: (error) => life.fail(error),
    });
    this.#offers.offer("", witnessedHeads.loaded);
    this.lane = new WitnessLane({
      clock,
      random,
      logger,
      crypto,
      state,
      trustRoot,
      isLeader: () => consensus.isLeader(),
      headOf: (origin) => this.headOf(origin),
      proveGrowth: (origin, oldSize, treeSize) => witnessedHeads.storage.proveGrowth(origin, oldSize, treeSize),
      transport: options.witnessTransport,
      heads,
      onFailure: (witness, failure) => counts.noteWitnessFailure(witness, failure),
    });
    this.#awaited = new AwaitedHeads({
      clock,
      certifier: { heldOf: (origin) => heads.heldOf(origin), isStopped: (origin) => comparison.isStopped(origin) },
      comparison,
      tables: consensus.tables,
      trustRootVersion: () => state.trustRootChain?.newest.trustRoot.version ?? 0,
    });
  }

  /** The next witnessed head of an origin; one that is held already is answered at once. */
  await(request: HeadRequest): void {
    this.#awaited.await(request);
    this.#awaited.look();
  }

  /** A peer has sent what witnesses have cosigned. */
  onHeads(from: string, heads: readonly WitnessedHead[]): void {
    this.#offers.offer(from, heads);
  }

  /** A peer that has connected gets what this node holds. */
  onPeerUp(nodeId: string): void {
    const all = this.heads.origins.flatMap((origin) => this.heads.headsOf(origin));
    for (let from = 0; from < all.length; from += WITNESSED_HEADS_MAX) {
      const heads = all.slice(from, from + WITNESSED_HEADS_MAX);
      this.#options.network.send(nodeId, "bulk", { type: "witnessed", heads });
    }
  }

  /** Another version of the trust root is in force. */
  onTrustRoot(): void {
    this.heads.onTrustRoot((origin) => this.#lastSizeOfLost(origin));
  }

  /** Called periodically, after certificates of the newest heads have been made. */
  look(): void {
    const { certifier } = this.#parts.certifying;
    this.#offers.look();
    for (const origin of this.heads.origins) {
      const held = certifier.heldOf(origin);
      if (held !== null) this.heads.show(held);
    }
    this.lane.look();
    this.#awaited.look();
    this.delays.look();
  }

  close(): void {
    this.lane.close();
    this.#offers.close();
    this.#awaited.close();
    this.heads.close();
  }

  #tellAll(origin: OriginFingerprint): void {
    const heads = this.heads.headsOf(origin);
    if (heads.length > 0) this.#parts.membership.broadcast({ type: "witnessed", heads });
  }

  /** What may be shown to the world: certified, not in dispute, and in the tables, from which its proof is made. */
  headOf(origin: OriginFingerprint): HeldCertificate | null {
    const { certifying, consensus } = this.#parts;
    const held = certifying.certifier.heldOf(origin);
    if (held === null || held.raftIndex > consensus.tables.writtenIndex) return null;
    if (this.#lastSizeOfLost(origin) !== null) return null;
    return certifying.contradictions.comparison.withholds(origin, held.treeSize) ? null : held;
  }

  /** The size of the last certificate of an origin that the trust root has given up; null: it has not. */
  #lastSizeOfLost(origin: OriginFingerprint): number | null {
    const { state } = this.#options;
    if (state.origins.get(bytesToHex(origin))?.status !== "lost") return null;
    return this.#parts.certifying.certifier.heldOf(origin)?.treeSize ?? 0;
  }
}
