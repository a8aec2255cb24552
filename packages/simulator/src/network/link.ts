import type { HelloRefusal, PeerFrame } from "@event-anchoring/control-contract";
import type { Bugs } from "../planted/planted-bugs.ts";
import type { Seeded } from "../world/seeded.ts";
import type { World } from "../world/world.ts";

/** One direction between two machines. */
export interface Link {
  /** Nothing passes; what is sent is lost. */
  isCut: boolean;
  /** What is sent waits, and passes when it opens again: a connection that stands still. */
  isClogged: boolean;
  loss: number;
  losesCosignatures: boolean;
  /** Proposals wait until this ends. */
  holdsProposals: boolean;
  /** Duplicates consensus messages, cosignatures and clock reports; other frames are sent at most once. */
  duplication: number;
  /** The same kinds overtake each other. */
  reorders: boolean;
  minMs: number;
  maxMs: number;
}

/** A link without faults. */
export const QUIET: Omit<Link, "isCut"> = {
  isClogged: false,
  loss: 0,
  losesCosignatures: false,
  holdsProposals: false,
  duplication: 0,
  reorders: false,
  minMs: 0.2,
  maxMs: 1.2,
};

/** How long both ends of a connection wait, in ms. */
export const PATIENCE = {
  /** After this long without a frame a connection is given up. */
  silenceMs: 4000,
  dialMs: 2000,
  /** After being refused for this long, the other side counts as gone. */
  refusedMs: 150,
  /** Blocked frames are tried again after this long. */
  blockedMs: 20,
} as const;

export const REDIAL_MS = [50, 50, 50, 50, 50, 100, 200, 400, 800, 1000];

export interface NetworkWatcher {
  onSent(from: string, machine: string, to: string, frame: PeerFrame): void;
  onDelivered(from: string, to: string, frame: PeerFrame, bytes: Uint8Array): void;
  onHelloRefused(from: string, to: string, refusal: HelloRefusal): void;
}

export interface SimulatedNetworkOptions {
  readonly world: World;
  readonly random: Seeded;
  readonly bugs: Bugs;
  readonly watcher: NetworkWatcher;
  /**
   * A test's script: after how many ms each copy of a frame arrives. Unequal delays reorder; no number is a loss.
   * null: the link decides.
   */
  readonly delaysOf?: (from: string, to: string, frame: PeerFrame) => readonly number[] | null;
}

/** What one side sends to the other until the connection ends. */
export interface Wire<Peer> {
  readonly peer: Peer;
  readonly peerIncarnation: number;
  isOpen: boolean;
  /** Arrival of the newest ordered frame: the next ones do not overtake it. */
  lastArrivalMs: number;
  lastHeardMs: number;
}

export interface Dialling<Peer> {
  tries: number;
  /** Counts dials: an answer to an abandoned one is ignored. */
  attempt: number;
  refusedSinceMs: number | null;
  isUnderWay: boolean;
  wire: Wire<Peer> | null;
}

export function openWire<Peer>(peer: Peer, peerIncarnation: number, nowMs: number): Wire<Peer> {
  return { peer, peerIncarnation, isOpen: true, lastArrivalMs: nowMs, lastHeardMs: nowMs };
}
