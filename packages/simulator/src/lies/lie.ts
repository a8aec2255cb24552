import type { Hello, HelloVerdict, PeerFrame } from "@event-anchoring/control-contract";
import type { NodeIdentity } from "@event-anchoring/control-plane";
import type { Command } from "@event-anchoring/ledger";
import type { OfferedState } from "../disks/simulated-snapshots.ts";

/** What a liar is: one member, with its own keys, whose node runs the true program behind its lies. */
export interface LiarSelf extends Pick<NodeIdentity, "nodeId" | "raftId" | "clusterId" | "cosigner" | "trustRoot"> {
  readonly authSigner: NodeIdentity["authSigner"];
  /** The other members. */
  readonly others: readonly string[];
  readonly raftIdOf: (nodeId: string) => bigint;
  /** Submits a command to its own node, as its clients do. */
  readonly submit: (command: Command) => void;
  /** Breaks off its connections with one of the others, so that hellos are exchanged again. */
  readonly reconnect: () => void;
}

/** What it signs with. */
export type SigningSelf = Pick<LiarSelf, "cosigner" | "trustRoot">;

export interface Said {
  readonly to: string;
  readonly frame: PeerFrame;
}

/** What the liar does with a frame that it has been sent. */
export interface Heard {
  /** What its own program gets to see; null: nothing. */
  readonly frame: PeerFrame | null;
  /** Further frames that it sends. */
  readonly says: readonly Said[];
}

/**
 * One way of lying with well-formed messages. It sits between an unaware node and the network. A liar may have several:
 * each sees the output of the previous one.
 */
export interface Lie {
  /** Replaces an outgoing frame; returns the frame itself if it does not lie here. */
  onLeaving(to: string, frame: PeerFrame): readonly PeerFrame[];
  onArriving(from: string, frame: PeerFrame): Heard;
  /** Replaces its own hello. */
  onHello(hello: Hello): Hello;
  /** Replaces its verdict on a peer. */
  onJudging(peer: Hello, verdict: HelloVerdict): HelloVerdict;
  /** Replaces the state that a peer asks for. */
  onExport(state: OfferedState): OfferedState;
  /** Its own program does not receive peers' refusals: their proofs would stop it. */
  readonly isDeaf: boolean;
  /** Ten times a second. */
  onTick(): void;
}

/** Says nothing but the truth. */
export class NoLie implements Lie {
  readonly isDeaf: boolean = false;

  onLeaving(_to: string, frame: PeerFrame): readonly PeerFrame[] {
    return [frame];
  }

  onArriving(_from: string, frame: PeerFrame): Heard {
    return { frame, says: [] };
  }

  onHello(hello: Hello): Hello {
    return hello;
  }

  onJudging(_peer: Hello, verdict: HelloVerdict): HelloVerdict {
    return verdict;
  }

  onExport(state: OfferedState): OfferedState {
    return state;
  }

  onTick(): void {}
}

/** Ignores evidence against itself: a correct program that received it would stop itself. */
export class Shameless extends NoLie {
  override onLeaving(_to: string, frame: PeerFrame): readonly PeerFrame[] {
    return frame.type === "lines" ? [] : [frame];
  }

  override onArriving(_from: string, frame: PeerFrame): Heard {
    return { frame: frame.type === "lines" ? null : frame, says: [] };
  }
}
