import type { PeerFrame } from "@event-anchoring/control-contract";
import type { Signer } from "@event-anchoring/node-crypto";
import type { TrustRoot } from "@event-anchoring/protocol";

/** What a liar is: one member, with its own keys, whose node runs the true program behind its lies. */
export interface LiarSelf {
  readonly nodeId: string;
  readonly cosigner: Signer;
  readonly trustRoot: TrustRoot;
  /** The other members. */
  readonly others: readonly string[];
}

export interface Said {
  readonly to: string;
  readonly frame: PeerFrame;
}

/** What the liar does with a frame that it has been sent. */
export interface Heard {
  /** What its own program gets to see; null: nothing. */
  readonly frame: PeerFrame | null;
  /** What it says on its own account. */
  readonly says: readonly Said[];
}

/**
 * One way of lying with well-formed messages. It stands between a node that knows nothing of it and the network.
 * A liar may have several: each sees what the one before it has left.
 */
export interface Lie {
  /** In place of a frame that leaves; the frame itself if this is no occasion for a lie. */
  onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[];
  onArriving(from: string, frame: PeerFrame): Heard;
}

/** Says nothing but the truth. */
export class NoLie implements Lie {
  onLeaving(_to: string, frame: PeerFrame): readonly PeerFrame[] {
    return [frame];
  }

  onArriving(_from: string, frame: PeerFrame): Heard {
    return { frame, says: [] };
  }
}

/** Does not want to know what is held against it: a true program that heard it would stop itself. */
export class Shameless extends NoLie {
  override onLeaving(_to: string, frame: PeerFrame): readonly PeerFrame[] {
    return frame.type === "lines" ? [] : [frame];
  }

  override onArriving(_from: string, frame: PeerFrame): Heard {
    return { frame: frame.type === "lines" ? null : frame, says: [] };
  }
}

/** Several lies as one. */
export class Lies implements Lie {
  readonly #lies: readonly Lie[];

  constructor(lies: readonly Lie[]) {
    this.#lies = lies;
  }

  onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[] {
    return this.#lies.reduce<readonly PeerFrame[]>(
      (frames, lie) => frames.flatMap((each) => lie.onLeaving(to, each)),
      [frame],
    );
  }

  onArriving(from: string, frame: PeerFrame): Heard {
    let passed: PeerFrame | null = frame;
    const says: Said[] = [];
    for (const lie of this.#lies) {
      if (passed === null) break;
      const heard: Heard = lie.onArriving(from, passed);
      passed = heard.frame;
      says.push(...heard.says);
    }
    return { frame: passed, says };
  }
}
