import type { PeerCosignature, PeerFrame } from "@event-anchoring/control-contract";
import { type Heard, type LiarSelf, NoLie, type Said, Shameless, type SigningSelf } from "./lie.ts";
import { cosignedBy } from "./other-bytes.ts";

/** Signs another tree than its own, the same for all peers: a broken node would do the same. */
export class AnotherTree extends Shameless {
  readonly #self: SigningSelf;

  constructor(self: SigningSelf) {
    super();
    this.#self = self;
  }

  override onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[] {
    if (frame.type !== "cosignatures") return super.onLeaving(to, frame);
    return [{ ...frame, items: frame.items.map((item) => forgedRoot(this.#self, item)) }];
  }
}

/** Signs its own tree for all but one peer, and another for that one. */
export class TwoTrees extends Shameless {
  readonly #self: SigningSelf;
  readonly #victim: string;

  constructor(self: SigningSelf, victim: string) {
    super();
    this.#self = self;
    this.#victim = victim;
  }

  override onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[] {
    if (to !== this.#victim || frame.type !== "cosignatures") return super.onLeaving(to, frame);
    return [{ ...frame, items: frame.items.map((item) => forgedRoot(this.#self, item)) }];
  }
}

/** In ticks of 100 ms. By then the size is certified, and no node needs the signature. */
const LATE_TICKS = 5;

/** The same, but the other root comes late. */
export class LateSecondTree extends Shameless {
  readonly #self: SigningSelf;
  readonly #victim: string;
  #kept: { readonly tick: number; readonly items: readonly PeerCosignature[] }[] = [];
  #tick = 0;

  constructor(self: SigningSelf, victim: string) {
    super();
    this.#self = self;
    this.#victim = victim;
  }

  override onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[] {
    if (to !== this.#victim || frame.type !== "cosignatures") return super.onLeaving(to, frame);
    this.#kept.push({ tick: this.#tick, items: frame.items.map((item) => forgedRoot(this.#self, item)) });
    const late = this.#kept.filter(({ tick }) => tick <= this.#tick - LATE_TICKS);
    this.#kept = this.#kept.filter((kept) => !late.includes(kept));
    return late.map(({ items }) => ({ ...frame, items }));
  }

  override onTick(): void {
    this.#tick += 1;
  }
}

/** Keeps all cosignatures to itself: it sends none, and loses those that it is sent. */
export class KeptCosignatures extends NoLie {
  override onLeaving(_to: string, frame: PeerFrame): readonly PeerFrame[] {
    return frame.type === "cosignatures" ? [] : [frame];
  }

  override onArriving(_from: string, frame: PeerFrame): Heard {
    return { frame: frame.type === "cosignatures" ? null : frame, says: [] };
  }
}

/** Reports another effect chain than its own to all peers. No node has that chain, and the report is unsigned. */
export class OtherEffects extends NoLie {
  override onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[] {
    if (frame.type !== "cosignatures") return [frame];
    const other = to.charCodeAt(0) & 0xff;
    const items = frame.items.map((item) => ({ ...item, effect: item.effect.map((byte) => byte ^ other) }));
    return [{ ...frame, items }];
  }
}

/** Sends lines forged in other nodes' names whenever a peer sends anything about a tree. */
export class ForgedLines extends NoLie {
  readonly #self: LiarSelf;

  constructor(self: LiarSelf) {
    super();
    this.#self = self;
  }

  override onArriving(from: string, frame: PeerFrame): Heard {
    if (frame.type !== "cosignatures") return { frame, says: [] };
    const items = frame.items.map((item) => ({ ...forgedRoot(this.#self, item), nodeId: from }));
    const says = this.#self.others.map((to): Said => ({ to, frame: { type: "lines", items } }));
    return { frame, says };
  }
}

function forgedRoot({ cosigner, trustRoot }: SigningSelf, item: PeerCosignature): PeerCosignature {
  return cosignedBy(cosigner, trustRoot, { ...item, rootHash: item.rootHash.map((byte) => byte ^ 1) });
}
