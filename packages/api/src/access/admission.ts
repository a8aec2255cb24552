/** How much this process does at a time: a request beyond that is refused at once, before any work on it. */
import type { ServerResponse } from "node:http";
import { LIMITS } from "@event-anchoring/api-contract";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Caller } from "./auth.ts";
import { BytesUnderWay, overloaded } from "./bytes-under-way.ts";
import { FeedSlots } from "./feed-slots.ts";

/**
 * Costly reads at a time. One thread makes them all: more at a time would only delay each, and need more memory. One
 * waits for the database while the other computes.
 */
const COSTLY_READS_MAX = 2;
/** Bytes of large bodies and of answers under way, of all keys together. */
const BYTES_MAX = 64 * 1024 * 1024;

/**
 * Three bounds. Costly reads and feeds: a number at a time. Bytes: bodies that clients have begun to send, and answers
 * that they have not read yet. No key has more than half of the bytes.
 */
export class Admission {
  #costlyReads = 0;
  readonly #feeds = new FeedSlots({ max: LIMITS.feedsMax, shareMax: LIMITS.keyFeedsMax });
  readonly #bytes = new BytesUnderWay({ bytesMax: BYTES_MAX, shareBytesMax: BYTES_MAX / 2 });

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

  /** Returns a function that gives the place back. @throws RefusedError `overloaded` */
  takeFeed(caller: Caller | null): () => void {
    return this.#feeds.take(caller === null ? "nobody" : nameOf(caller));
  }

  /** @throws RefusedError `overloaded` if the bytes under way leave no room for more */
  assertRoom(caller: Caller): void {
    this.#bytes.assertRoom(nameOf(caller));
  }

  /** Counts bytes of a body or an answer until the exchange is over. */
  count(response: ServerResponse, caller: Caller, bytes: number): void {
    this.#bytes.count(response, nameOf(caller), bytes);
  }
}

function nameOf({ credential }: Caller): string {
  return bytesToHex(credential.keyId);
}
