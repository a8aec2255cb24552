import { bytesToHex, equalBytes } from "@event-anchoring/protocol";
import type { OriginFingerprint } from "@event-anchoring/protocol";
import { ConsistentRead } from "../reading/consistent-read.ts";
import type { Deadline } from "../request/deadline.ts";
import { problemError } from "../request/problem-error.ts";
import { RefusedError } from "../control-plane/control-plane.ts";
import { Head } from "./head.ts";
import { OriginFeed } from "./origin-feed.ts";
import type { OriginFeedOptions } from "./origin-feed.ts";

/** The feeds of this process: one for each origin that somebody follows. */
export class Feeds {
  readonly #options: OriginFeedOptions;
  readonly #byOrigin = new Map<string, Promise<OriginFeed>>();
  #isClosed = false;

  constructor(options: OriginFeedOptions) {
    this.#options = options;
  }

  /**
   * The feed of an origin, entered: its caller leaves it once. It begins with the newest head by a quorum's word.
   * @throws ProblemError `origin_unknown`, `no_anchor_yet`; RefusedError
   */
  async enter(origin: OriginFingerprint, deadline: Deadline): Promise<OriginFeed> {
    const name = bytesToHex(origin);
    for (;;) {
      if (this.#isClosed) throw new RefusedError("unavailable", "the api process is stopping");
      const begun = this.#byOrigin.get(name) ?? this.#begin(name, origin, deadline);
      const feed = await begun;
      if (feed.isEnded) continue;
      feed.enter();
      return feed;
    }
  }

  /** The process is stopping: followers ask another node. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const begun of await Promise.allSettled(this.#byOrigin.values())) {
      if (begun.status === "fulfilled") begun.value.end("unavailable");
    }
  }

  #begin(name: string, origin: OriginFingerprint, deadline: Deadline): Promise<OriginFeed> {
    const forget = (): void => {
      if (this.#byOrigin.get(name) === begun) this.#byOrigin.delete(name);
    };
    const begun = this.#read(origin, deadline, forget);
    this.#byOrigin.set(name, begun);
    begun.catch(forget);
    return begun;
  }

  async #read(origin: OriginFingerprint, deadline: Deadline, onEnd: () => void): Promise<OriginFeed> {
    const { controlPlane, reads } = this.#options;
    const ready = await controlPlane.read([origin], deadline.remainingMs);
    const [certificate] = ready.certificates;
    if (certificate === undefined) {
      const origins = await ConsistentRead.from(ready, { reads }, deadline).origins();
      const isKnown = origins.some(({ originFingerprint }) => equalBytes(originFingerprint, origin));
      throw problemError(isKnown ? "no_anchor_yet" : "origin_unknown");
    }
    return new OriginFeed(origin, new Head(certificate, ready, this.#options), this.#options, onEnd);
  }
}
