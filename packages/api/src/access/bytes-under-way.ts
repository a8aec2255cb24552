import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import type { ServerResponse } from "node:http";
import { RefusedError } from "../control-plane/control-plane.ts";

interface Share {
  readonly name: string;
  bytes: number;
}

export interface BytesRules {
  /** Bytes of all names together. */
  readonly bytesMax: number;
  /** Bytes of one name. */
  readonly shareBytesMax: number;
}

/**
 * Bytes that clients have begun to send, and answers that they have not read yet, by who is charged for them: a slow
 * client keeps both in memory.
 */
export class BytesUnderWay {
  readonly #rules: BytesRules;
  readonly #byName = new Map<string, number>();
  readonly #shares = new WeakMap<ServerResponse, Share>();
  #bytes = 0;

  constructor(rules: BytesRules) {
    this.#rules = rules;
  }

  /** @throws RefusedError `overloaded` if there is no room for more */
  assertRoom(name: string): void {
    const { bytesMax, shareBytesMax } = this.#rules;
    if (this.#bytes >= bytesMax) throw overloaded(`${this.#bytes} bytes are under way`);
    const ofName = this.#byName.get(name) ?? 0;
    if (ofName >= shareBytesMax) throw overloaded(`${ofName} bytes of one caller are under way`);
  }

  /** Counts bytes of a body or an answer until the exchange is over. */
  count(response: ServerResponse, name: string, bytes: number): void {
    if (response.closed || response.destroyed) return;
    const share = this.#shareOf(response, name);
    share.bytes += bytes;
    this.#add(share.name, bytes);
  }

  #shareOf(response: ServerResponse, name: string): Share {
    const known = this.#shares.get(response);
    if (known !== undefined) return known;
    const share: Share = { name, bytes: 0 };
    this.#shares.set(response, share);
    response.once("close", () => this.#add(share.name, -share.bytes));
    return share;
  }

  #add(name: string, bytes: number): void {
    this.#bytes += bytes;
    const ofName = (this.#byName.get(name) ?? 0) + bytes;
    if (ofName === 0) this.#byName.delete(name);
    else this.#byName.set(name, ofName);
  }
}

/** Refused as too much for now. */
export function overloaded(what: string): RefusedError {
  return new RefusedError("overloaded", what, RETRY_AFTER_MS);
}
