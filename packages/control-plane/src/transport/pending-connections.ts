import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import type { Clock } from "../environment.ts";
import { PENDING_MS } from "./hello-timeouts.ts";

/** Connections that have proved nothing yet. More are closed unseen. */
const PENDING_MAX = 64;

/**
 * Accepted connections that are not authenticated yet, known by their remote address and port. One count and one
 * deadline cover every way to be slow: a TLS handshake that stalls, a head that drips, a hello that never comes.
 */
export class PendingConnections {
  readonly #clock: Clock;
  readonly #pending = new Map<string, { readonly socket: Socket; readonly deadlineMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#pending.size;
  }

  /** False: there are too many; the socket was closed. */
  admit(socket: Socket): boolean {
    const key = keyOf(socket);
    if (key === null || this.#pending.size >= PENDING_MAX) {
      socket.destroy();
      return false;
    }
    this.#pending.set(key, { socket, deadlineMs: this.#clock.monotonicMs() + PENDING_MS });
    socket.once("close", () => this.#pending.delete(key));
    return true;
  }

  /** The connection has proved who it is: no count and no deadline any more. */
  release(socket: TLSSocket): void {
    const key = keyOf(socket);
    if (key !== null) this.#pending.delete(key);
  }

  /** Closes what is late. @returns how many */
  sweep(): number {
    const nowMs = this.#clock.monotonicMs();
    const late = [...this.#pending.values()].filter(({ deadlineMs }) => nowMs >= deadlineMs);
    for (const { socket } of late) socket.destroy();
    return late.length;
  }
}

function keyOf(socket: Socket): string | null {
  const { remoteAddress, remotePort } = socket;
  return remoteAddress === undefined || remotePort === undefined ? null : `${remoteAddress} ${remotePort}`;
}
