/** How much this process does at a time: a request beyond that is refused at once, before any work on it. */
import { RETRY_AFTER_MS } from "@event-anchoring/control-contract";
import type { ServerResponse } from "node:http";
import { bytesToHex } from "@event-anchoring/protocol";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { Caller } from "./auth.ts";

/**
 * Costly reads at a time. One thread makes them all: more at a time would only delay each, and need more memory. One
 * waits for the database while the other computes.
 */
const COSTLY_READS_MAX = 2;
/** Bytes of large bodies and of answers under way, of all keys together, and of one key. */
const BYTES_MAX = 64 * 1024 * 1024;
const KEY_BYTES_MAX = BYTES_MAX / 2;

function overloaded(what: string): RefusedError {
  return new RefusedError("overloaded", what, RETRY_AFTER_MS);
}

interface Share {
  readonly key: string;
  bytes: number;
}

/**
 * Two bounds. Costly reads: a number at a time. Bytes: bodies that clients have begun to send, and answers that they
 * have not read yet; a slow client keeps both in memory. No key has more than half of the bytes.
 */
export class Admission {
  #costlyReads = 0;
  #bytes = 0;
  readonly #bytesOfKeys = new Map<string, number>();
  readonly #shares = new WeakMap<ServerResponse, Share>();

  /**
   * Also called before a body is read: there is no need to read the body of a read that cannot be made.
   * @throws RefusedError `overloaded`
   */
  assertCostlyRoom(caller: Caller): void {
    this.assertRoom(caller);
    if (this.#costlyReads >= COSTLY_READS_MAX) throw overloaded(`${COSTLY_READS_MAX} costly reads are under way`);
  }

  /** Runs a costly read if there is room for it. @throws RefusedError `overloaded` */
  async costly<T>(caller: Caller, run: () => Promise<T>): Promise<T> {
    this.assertCostlyRoom(caller);
    this.#costlyReads += 1;
    try {
      return await run();
    } finally {
      this.#costlyReads -= 1;
    }
  }

  /** @throws RefusedError `overloaded` if the bytes under way leave no room for more */
  assertRoom(caller: Caller): void {
    if (this.#bytes >= BYTES_MAX) throw overloaded(`${this.#bytes} bytes are under way`);
    const ofKey = this.#bytesOfKeys.get(nameOf(caller)) ?? 0;
    if (ofKey >= KEY_BYTES_MAX) throw overloaded(`${ofKey} bytes of this key are under way`);
  }

  /** Counts bytes of a body or an answer until the exchange is over. */
  count(response: ServerResponse, caller: Caller, bytes: number): void {
    if (response.closed || response.destroyed) return;
    const share = this.#shareOf(response, caller);
    share.bytes += bytes;
    this.#add(share.key, bytes);
  }

  #shareOf(response: ServerResponse, caller: Caller): Share {
    const known = this.#shares.get(response);
    if (known !== undefined) return known;
    const share: Share = { key: nameOf(caller), bytes: 0 };
    this.#shares.set(response, share);
    response.once("close", () => this.#add(share.key, -share.bytes));
    return share;
  }

  #add(key: string, bytes: number): void {
    this.#bytes += bytes;
    const ofKey = (this.#bytesOfKeys.get(key) ?? 0) + bytes;
    if (ofKey === 0) this.#bytesOfKeys.delete(key);
    else this.#bytesOfKeys.set(key, ofKey);
  }
}

function nameOf({ credential }: Caller): string {
  return bytesToHex(credential.keyId);
}
