import type { Socket } from "node:net";
import { answersIn } from "./answers.ts";
import type { GivenAnswer } from "./answers.ts";
import { framingOf } from "./framing.ts";
import { openSocket } from "./raw-connection.ts";
import type { Door } from "./raw-connection.ts";

/** What became of bytes that may be no request. */
export interface SpoiledOutcome {
  readonly answers: readonly GivenAnswer[];
  /**
   * - `answered`: every whole request among the bytes has its whole answer, or the last answer is a stream.
   * - `closed`: the server has ended the connection.
   * - `silent`: it has done neither in all the time that it had, whatever else it has sent.
   * - `unreached`: there was no connection.
   */
  readonly end: "answered" | "closed" | "silent" | "unreached";
  /** How many whole requests the bytes are, at least. */
  readonly whole: number;
  /** Bytes of the server that are no answer; null: there are none. */
  readonly unreadable: string | null;
}

/**
 * A server may take for whole what the strict reader of requests does not: its answer comes within this silence. Then
 * the client ends its side, and the server must answer, or close.
 */
const GRACE_MS = 250;

/**
 * Sends bytes that may be no request, on a connection of their own, and waits until the server has answered all that it
 * owes an answer to, or has closed. Where the bytes are cut, it waits for the rest: it is told that there is none.
 * @param timeoutMs silence after which the server is given up
 */
export function sendSpoiled(door: Door, bytes: Buffer, timeoutMs: number): Promise<SpoiledOutcome> {
  const socket = openSocket(door);
  const { whole, hasRest } = framingOf(bytes);
  const isOwed = whole > 0 && !hasRest;
  return new Promise((resolve) => {
    const exchange = new SpoiledExchange(socket, whole, isOwed, timeoutMs, resolve);
    // Bytes that come for ever are no silence, and no answer.
    const deadline = setTimeout(() => exchange.finish("silent"), 2 * timeoutMs + GRACE_MS);
    const readyEvent = door.ca === null ? "connect" : "secureConnect";
    socket.setTimeout(timeoutMs);
    socket.on("timeout", () => exchange.silence());
    socket.once(readyEvent, () => {
      exchange.isReached = true;
      socket.write(bytes, () => exchange.next());
    });
    socket.on("data", (part: Buffer) => exchange.receive(part));
    // A close follows a reset; without a connection it means that there was none.
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(deadline);
      exchange.finish(exchange.isReached ? "closed" : "unreached");
    });
  });
}

/** One exchange: sent → (all that is owed has come) → answered, or (silence) → its side ended → closed, or silent. */
class SpoiledExchange {
  readonly #socket: Socket;
  readonly #whole: number;
  readonly #isOwed: boolean;
  readonly #timeoutMs: number;
  readonly #resolve: (outcome: SpoiledOutcome) => void;
  #bytes: Buffer = Buffer.alloc(0);
  #hasEnded = false;
  #isFinished = false;
  isReached = false;

  constructor(
    socket: Socket,
    whole: number,
    isOwed: boolean,
    timeoutMs: number,
    resolve: (outcome: SpoiledOutcome) => void,
  ) {
    this.#socket = socket;
    this.#whole = whole;
    this.#isOwed = isOwed;
    this.#timeoutMs = timeoutMs;
    this.#resolve = resolve;
  }

  receive(part: Buffer): void {
    if (this.#isFinished) return;
    this.#bytes = Buffer.concat([this.#bytes, part]);
    this.next();
  }

  /** Finishes, or sets how long the server may now be silent. */
  next(): void {
    if (this.#isFinished) return;
    const { answers } = answersIn(this.#bytes);
    const isAllThere = answers.filter(({ isWhole }) => isWhole).length >= this.#whole;
    if ((isAllThere && this.#isOwed) || answers.at(-1)?.isStream === true) this.finish("answered");
    else this.#socket.setTimeout(isAllThere && !this.#hasEnded ? GRACE_MS : this.#timeoutMs);
  }

  silence(): void {
    if (!this.isReached) this.finish("unreached");
    else if (this.#hasEnded || this.#wholeAnswers() < this.#whole) this.finish("silent");
    else {
      this.#hasEnded = true;
      this.#socket.end();
      this.#socket.setTimeout(this.#timeoutMs);
    }
  }

  finish(end: SpoiledOutcome["end"]): void {
    if (this.#isFinished) return;
    this.#isFinished = true;
    this.#socket.destroy();
    this.#resolve({ ...answersIn(this.#bytes), end, whole: this.#whole });
  }

  #wholeAnswers(): number {
    return answersIn(this.#bytes).answers.filter(({ isWhole }) => isWhole).length;
  }
}
