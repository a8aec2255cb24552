import { hash, timingSafeEqual } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { apiKeyIdentity, parseApiKey } from "@event-anchoring/control-contract";
import type { CallerKey } from "@event-anchoring/control-contract";
import { isLiveApiKey } from "@event-anchoring/ledger";
import { bytesToHex } from "@event-anchoring/protocol";
import type { Sha256 } from "@event-anchoring/protocol";
import type { Clock, Logger } from "@event-anchoring/telemetry";
import { RefusedError } from "../control-plane/control-plane.ts";

/** A revoked key is refused here after this time at the latest; the ledger refuses its writes at once. */
const AGE_MS_MAX = 1000;
/**
 * From this age on the table is asked for anew in the background, so that a busy process never waits for it. The
 * control plane answers from memory, and sends the keys only if they have changed.
 */
const AGE_MS_STALE = 400;
/** An unknown key may be a new one: the table is loaded again, but not more often than this. */
const MISS_PAUSE_MS = 50;
/** Parsed keys remembered, so that the arithmetic of the text form is done once per key. */
const IDENTITIES_MAX = 1024;

export interface KeyTableOptions {
  /**
   * The whole replicated key table, as of a read index taken after the call. So a node that lags neither refuses a key
   * that the cluster has nor accepts one that the cluster has revoked. The same object means that nothing has changed.
   */
  readonly load: () => Promise<readonly CallerKey[]>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly sha256: Sha256;
}

interface KeyIdentity {
  readonly keyId: string;
  readonly keyHash: Uint8Array;
}

interface Loaded {
  readonly list: readonly CallerKey[];
  /** The same by id. */
  readonly keys: ReadonlyMap<string, CallerKey>;
  /** When it was requested: changes since then may not be in it. */
  readonly atMs: number;
}

/** Compared with when there is no such key, so that both answers take the same path. */
const NO_HASH = new Uint8Array(32);

/** The replicated key table, at most one second old. */
export class KeyTable {
  readonly #options: KeyTableOptions;
  /** By the SHA-256 of the key's text: the secret itself is not kept, and the look-up reveals nothing about it. */
  readonly #identities = new Map<string, KeyIdentity>();
  #loaded: Loaded | null = null;
  #loading: Promise<Loaded> | null = null;

  constructor(options: KeyTableOptions) {
    this.#options = options;
  }

  /**
   * The live key a client presents, or null: malformed, unknown, expired, revoked.
   * @param text attacker-controlled
   * @throws whatever loading the table throws, if it cannot be loaded in time
   */
  async find(text: string): Promise<CallerKey | null> {
    const askedMs = this.#options.clock.monotonicMs();
    const identity = this.#identityOf(text);
    if (identity === null) return null;
    let loaded = await this.#fresh();
    let key = loaded.keys.get(identity.keyId);
    // Only a table that was requested after the key came can show that there is no such key.
    while (key === undefined && loaded.atMs < askedMs) {
      loaded = await this.#loadNewer(loaded);
      key = loaded.keys.get(identity.keyId);
    }
    const isSame = timingSafeEqual(key?.keyHash ?? NO_HASH, identity.keyHash);
    if (key === undefined || !isSame) return null;
    return isLiveApiKey(key, this.#options.clock.wallMs()) ? key : null;
  }

  /** Whether keys can be looked up now; a node that has not yet read the table cannot say who may write. */
  async isAtHand(): Promise<boolean> {
    try {
      await this.#fresh();
      return true;
    } catch (error) {
      if (error instanceof RefusedError) return false;
      throw error;
    }
  }

  #identityOf(text: string): KeyIdentity | null {
    // Longer texts are not keys, and are not hashed.
    if (text.length > 128) return null;
    const digest = hash("sha256", text);
    const known = this.#identities.get(digest);
    if (known !== undefined) return known;
    const secret = parseApiKey(text);
    if (secret === null) return null;
    const { keyId, keyHash } = apiKeyIdentity(secret, this.#options.sha256);
    const identity = { keyId: bytesToHex(keyId), keyHash };
    if (this.#identities.size >= IDENTITIES_MAX) this.#identities.clear();
    this.#identities.set(digest, identity);
    return identity;
  }

  #ageMs(loaded: Loaded): number {
    return this.#options.clock.monotonicMs() - loaded.atMs;
  }

  async #fresh(): Promise<Loaded> {
    const loaded = this.#loaded;
    if (loaded !== null && this.#ageMs(loaded) <= AGE_MS_MAX) {
      if (this.#ageMs(loaded) > AGE_MS_STALE) this.#loadBeside();
      return loaded;
    }
    const anew = await this.#load();
    if (this.#ageMs(anew) <= AGE_MS_MAX) return anew;
    throw new RefusedError("deadline_exceeded", "the key table came too late to be used");
  }

  /** A failure is noticed when the table is too old to be used; until then the present one is good. */
  #loadBeside(): void {
    if (this.#loading !== null) return;
    const { logger } = this.#options;
    this.#load().catch((error: unknown) => logger.warn("the key table cannot be loaded anew", { err: error }));
  }

  async #loadNewer(than: Loaded): Promise<Loaded> {
    const waitMs = MISS_PAUSE_MS - this.#ageMs(than);
    if (waitMs > 0) await pause(waitMs);
    const newest = this.#loaded;
    return newest !== null && newest.atMs > than.atMs ? newest : this.#load();
  }

  #load(): Promise<Loaded> {
    this.#loading ??= this.#loadOnce().finally(() => {
      this.#loading = null;
    });
    return this.#loading;
  }

  async #loadOnce(): Promise<Loaded> {
    const atMs = this.#options.clock.monotonicMs();
    const list = await this.#options.load();
    const known = this.#loaded;
    const keys = known?.list === list ? known.keys : new Map(list.map((key) => [bytesToHex(key.keyId), key]));
    const loaded = { list, keys, atMs };
    this.#loaded = loaded;
    return loaded;
  }
}
