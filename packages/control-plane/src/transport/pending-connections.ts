import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock } from "@event-anchoring/telemetry";
import { PENDING_MS } from "./hello-timeouts.ts";
import type { PeerAddresses } from "./peer-addresses.ts";

/** Connections that have proved nothing yet, from addresses that are no peer's. More are closed unseen. */
const STRANGERS_MAX = 64;
/** The same, from one address. */
const STRANGERS_PER_ADDRESS_MAX = 4;
/**
 * From the address of one peer, beside all strangers: two lanes and a few calls, and other hosts behind that address.
 */
const PER_PEER_ADDRESS_MAX = 32;

interface Pending {
  readonly socket: Socket;
  readonly address: string;
  readonly isStranger: boolean;
  readonly deadlineMs: number;
}

/**
 * Accepted connections that are not authenticated yet, known by their remote address and port. One count and one
 * deadline cover every way to be slow: a TLS handshake that stalls, a head that drips, a hello that never comes.
 * Strangers have a limit of their own, beside the peers' addresses, so they keep no peer out.
 */
export class PendingConnections {
  readonly #clock: Clock;
  readonly #peers: Pick<PeerAddresses, "has">;
  readonly #pending = new Map<string, Pending>();
  /** By address. */
  readonly #counts = new Map<string, number>();
  #strangers = 0;

  constructor(clock: Clock, peers: Pick<PeerAddresses, "has">) {
    this.#clock = clock;
    this.#peers = peers;
  }

  /** False: there are too many; the socket was closed. */
  admit(socket: Socket): boolean {
    const { remoteAddress: address } = socket;
    const key = keyOf(socket);
    if (key === null || address === undefined || !this.#hasRoomFor(address)) {
      socket.destroy();
      return false;
    }
    const isStranger = !this.#peers.has(address);
    const deadlineMs = this.#clock.monotonicMs() + PENDING_MS;
    this.#pending.set(key, { socket, address, isStranger, deadlineMs });
    this.#counts.set(address, (this.#counts.get(address) ?? 0) + 1);
    if (isStranger) this.#strangers += 1;
    socket.once("close", () => this.#remove(key));
    return true;
  }

  /** The connection has proved who it is: no count and no deadline any more. */
  release(socket: TLSSocket): void {
    const key = keyOf(socket);
    if (key !== null) this.#remove(key);
  }

  /** Closes what is late. @returns how many */
  sweep(): number {
    const nowMs = this.#clock.monotonicMs();
    const late = [...this.#pending.values()].filter(({ deadlineMs }) => nowMs >= deadlineMs);
    for (const { socket } of late) socket.destroy();
    return late.length;
  }

  #hasRoomFor(address: string): boolean {
    const count = this.#counts.get(address) ?? 0;
    if (this.#peers.has(address)) return count < PER_PEER_ADDRESS_MAX;
    return count < STRANGERS_PER_ADDRESS_MAX && this.#strangers < STRANGERS_MAX;
  }

  #remove(key: string): void {
    const pending = this.#pending.get(key);
    if (pending === undefined) return;
    this.#pending.delete(key);
    if (pending.isStranger) this.#strangers -= 1;
    const left = (this.#counts.get(pending.address) ?? 1) - 1;
    if (left === 0) this.#counts.delete(pending.address);
    else this.#counts.set(pending.address, left);
  }
}

function keyOf(socket: Socket): string | null {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined || remotePort === undefined ? null : `${remoteAddress} ${remotePort}`;
}
