import type { PeerCosignature } from "@event-anchoring/control-contract";
import { bytesToHex } from "@event-anchoring/protocol";

export interface CosignatureExchangeOptions {
  readonly nodeId: string;
  /** null: none is known. */
  readonly leader: () => string | null;
  /** Cosignatures that make a certificate. */
  readonly quorum: () => number;
  /** To all members. @param asks this node lacks certificates of these, and wants the receivers' own cosignatures */
  readonly broadcast: (items: readonly PeerCosignature[], asks: boolean) => void;
  readonly sendTo: (nodeId: string, items: readonly PeerCosignature[]) => void;
}

/**
 * To whom this node sends its cosignatures.
 *
 * With a quorum of two, the leader's cosignature and a node's own make a certificate: followers send theirs to the
 * leader at once, and the leader its own to all. What followers have not told each other goes to all every 200 ms, the
 * newest of each origin: a leader that gives them different trees is noticed by their comparison alone.
 */
export class CosignatureExchange {
  readonly #options: CosignatureExchangeOptions;
  /** By origin in hex: the newest that went to the leader alone. */
  readonly #untold = new Map<string, PeerCosignature>();

  constructor(options: CosignatureExchangeOptions) {
    this.#options = options;
  }

  /** New ones. */
  send(items: readonly PeerCosignature[]): void {
    const { nodeId, leader, quorum, broadcast, sendTo } = this.#options;
    const to = leader();
    if (to === null || to === nodeId || quorum() > 2) {
      this.#noteTold(items);
      broadcast(items, false);
      return;
    }
    for (const item of items) this.#untold.set(bytesToHex(item.originFingerprint), item);
    sendTo(to, items);
  }

  /** This node lacks certificates of these: what it needs may have been lost, or kept back. */
  ask(items: readonly PeerCosignature[]): void {
    this.#noteTold(items);
    this.#options.broadcast(items, true);
  }

  /** Called every 200 ms. */
  tellAll(): void {
    if (this.#untold.size === 0) return;
    this.#options.broadcast([...this.#untold.values()], false);
    this.#untold.clear();
  }

  #noteTold(items: readonly PeerCosignature[]): void {
    for (const { originFingerprint } of items) this.#untold.delete(bytesToHex(originFingerprint));
  }
}
