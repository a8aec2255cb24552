import type { PeerFrame } from "@event-anchoring/control-contract";
import type { Bugs } from "./planted-bugs.ts";

type Cosignatures = Extract<PeerFrame, { type: "cosignatures" }>;

/** What a wrong process does to the cosignatures that it sends. */
export class WrongFrames {
  readonly #bugs: Bugs;
  /** By peer: signatures that were sent to it. */
  readonly #said = new Map<string, Set<string>>();
  #heard: Cosignatures["items"] = [];

  constructor(bugs: Bugs) {
    this.#bugs = bugs;
  }

  /** The frame that this process intends to send; null: none. */
  meant(to: string, frame: PeerFrame): PeerFrame | null {
    return this.#bugs.has("cosignature_sent_once") && frame.type === "cosignatures" ? this.#unsaid(to, frame) : frame;
  }

  /**
   * What is on the wire: where signers are not checked, it passes other nodes' signatures off as its own; where
   * signatures are not verified, it sends none that verifies.
   */
  sent(frame: PeerFrame): PeerFrame {
    if (frame.type !== "cosignatures") return frame;
    if (this.#bugs.has("signer_not_checked")) return { ...frame, items: [...frame.items, ...this.#heard] };
    if (!this.#bugs.has("cosignature_not_verified")) return frame;
    return { ...frame, items: frame.items.map((item) => ({ ...item, signature: new Uint8Array(64) })) };
  }

  received(frame: PeerFrame): void {
    if (frame.type === "cosignatures") this.#heard = frame.items.slice(0, 1);
  }

  #unsaid(to: string, frame: Cosignatures): PeerFrame | null {
    const said = this.#said.get(to) ?? new Set<string>();
    this.#said.set(to, said);
    const items = frame.items.filter(({ signature }) => !said.has(signature.join()));
    for (const { signature } of items) said.add(signature.join());
    return items.length === 0 ? null : { ...frame, items };
  }
}
