/**
 * Watches the log through the node that the page came from, as long as the page is open and seen: a look every few
 * seconds, by the Monitor of the SDK, whose rules are the only ones.
 */
import { Monitor, VerificationError } from "@event-anchoring/sdk";
import type { MonitorLook, MonitorOptions, MonitorState } from "@event-anchoring/sdk";
import type { TrustRootChain } from "@event-anchoring/protocol";
import type { JudgedBy } from "@event-anchoring/verdicts";
import { holdTrustRoots } from "../check/trust.ts";
import type { Pin } from "../check/trust.ts";
import { NO_ALARMS, raisedBy, trustRootLost, withAlarms } from "./alarms.ts";
import type { Alarms } from "./alarms.ts";
import { headsOf } from "./heads.ts";
import type { Head } from "./heads.ts";
import type { NodeHealth, NodeReadiness, NodeService } from "./node-service.ts";
import { isFinal, isSilence, pauseOf, refusalText } from "./refusal.ts";

const PERIOD_MS = 5_000;
const BACKOFF_MAX_MS = 5 * 60_000;
/** Looks from one question about the node's health to the next. */
const LOOKS_PER_HEALTH = 6;

export interface NodeWord {
  readonly health: NodeHealth | null;
  readonly readiness: NodeReadiness | null;
  readonly askedAtMs: number;
}

/** What is known now. */
export interface Watched {
  /** `idle`: nobody is asked yet. `refused`: the key is of no use. `hidden`: nobody sees the page. */
  readonly phase: "idle" | "looking" | "waiting" | "hidden" | "refused";
  readonly heads: readonly Head[];
  readonly alarms: Alarms;
  /** Why the last look was none; null: it was one. */
  readonly refusal: string | null;
  /** From the last look to the next. */
  readonly pauseMs: number;
  /** When the last good look ended; null: there was none. */
  readonly lookedAtMs: number | null;
  /** null: no trust root that holds was shown. */
  readonly judgedBy: JudgedBy | null;
  readonly node: NodeWord | null;
}

const NOTHING_KNOWN = { heads: [], refusal: null, lookedAtMs: null, judgedBy: null, node: null } as const;

export const UNWATCHED: Watched = { ...NOTHING_KNOWN, phase: "idle", alarms: NO_ALARMS, pauseMs: PERIOD_MS };

/** A try to look, which may have shown nothing. */
interface Look {
  readonly look: MonitorLook | null;
  readonly error: unknown;
}

/** What was seen and the alarms outlive a change of key or pin: the next head is held against the one before it. */
export class Watch {
  readonly #onChange: (watched: Watched) => void;
  #service: NodeService | null = null;
  #watched: Watched = UNWATCHED;
  #pin: Pin = { state: "empty" };
  #memory: MonitorState | null = null;
  /** The first trust roots that were shown: what stands in for a pin until there is one, and makes nothing green. */
  #firstChain: TrustRootChain | null = null;
  /** What `judgedBy` was made of. */
  #judgedDocuments = "";
  #looks = 0;
  #failures = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The answer to an earlier question than this is dropped. */
  #round = 0;

  constructor(onChange: (watched: Watched) => void) {
    this.#onChange = onChange;
    document.addEventListener("visibilitychange", () => this.#lookSoon(0));
  }

  /** Begins to look. */
  connect(service: NodeService): void {
    this.#service = service;
    this.#failures = 0;
    this.#looks = 0;
    this.#show(NOTHING_KNOWN);
    this.#lookSoon(0);
  }

  /** Stops to look, and lets go of the key. */
  disconnect(): void {
    this.#service = null;
    this.#round++;
    clearTimeout(this.#timer);
    this.#show({ ...NOTHING_KNOWN, phase: "idle" });
  }

  /** Judges all that follows by another pin. */
  setPin(pin: Pin): void {
    this.#pin = pin;
    if (this.#service === null) return;
    this.#show(NOTHING_KNOWN);
    this.#looks = 0;
    this.#lookSoon(0);
  }

  #show(change: Partial<Watched>): void {
    this.#watched = { ...this.#watched, ...change };
    this.#onChange(this.#watched);
  }

  #lookSoon(afterMs: number): void {
    clearTimeout(this.#timer);
    this.#round++;
    const [service, round] = [this.#service, this.#round];
    if (service === null) return;
    if (document.visibilityState === "hidden") {
      this.#show({ phase: "hidden" });
      return;
    }
    this.#timer = setTimeout(() => void this.#look(service, round), afterMs);
  }

  async #look(service: NodeService, round: number): Promise<void> {
    this.#show({ phase: "looking" });
    const [found, node] = await Promise.all([this.#try(service), this.#askNode(service)]);
    if (round !== this.#round) return;
    try {
      this.#take(service, found, node);
    } catch (error) {
      this.#takeRefusal(service, error, { node });
    }
    if (this.#watched.phase === "refused") this.#service = null;
    this.#lookSoon(this.#watched.pauseMs);
  }

  async #try(service: NodeService): Promise<Look> {
    try {
      const monitor = new Monitor({ ...(await this.#trust(service)), client: service, store: this.#store });
      const look = await monitor.look();
      return { look, error: look.unanswered[0]?.error ?? null };
    } catch (error) {
      return { look: null, error };
    }
  }

  /** In memory alone: a page that is opened again begins anew. */
  readonly #store = {
    load: (): Promise<MonitorState | null> => Promise.resolve(this.#memory),
    save: (state: MonitorState): Promise<void> => {
      this.#memory = state;
      return Promise.resolve();
    },
  };

  async #trust(service: NodeService): Promise<Pick<MonitorOptions, "pinnedRootThk" | "trustRoot">> {
    if (this.#pin.state === "given") return { pinnedRootThk: this.#pin.rootThk };
    if (this.#firstChain === null) {
      await service.trustRoot();
      const held = holdTrustRoots(service.documents, { state: "empty" });
      if (held.state === "refused") throw new VerificationError(held.code, held.detail);
      if (held.state === "missing") throw new VerificationError("missing", "the node shows no trust root");
      this.#firstChain = held.judgedBy.chain;
    }
    return { trustRoot: this.#firstChain };
  }

  async #askNode(service: NodeService): Promise<NodeWord | null> {
    if (this.#looks++ % LOOKS_PER_HEALTH !== 0) return this.#watched.node;
    const [health, readiness] = await Promise.allSettled([service.health(), service.readiness()]);
    return {
      health: health.status === "fulfilled" ? health.value : null,
      readiness: readiness.status === "fulfilled" ? readiness.value : null,
      askedAtMs: Date.now(),
    };
  }

  #take(service: NodeService, { look, error }: Look, node: NodeWord | null): void {
    const nowMs = Date.now();
    const wasTrusted = this.#watched.judgedBy !== null;
    const sighting = { seenAtMs: nowMs, trustRoots: [this.#judgedDocuments, service.documents.join("\n")] };
    const raised = [
      ...(look?.alarms.map((alarm) => raisedBy(alarm, sighting)) ?? []),
      ...(error instanceof VerificationError && wasTrusted ? [trustRootLost(error, sighting)] : []),
    ];
    const alarms = withAlarms(this.#watched.alarms, raised);
    if (look === null || error !== null) {
      this.#takeRefusal(service, error, { alarms, node });
      return;
    }
    this.#failures = 0;
    const judgedBy = this.#judgedBy(service, look);
    const heads = judgedBy === null ? [] : headsOf(look, judgedBy, alarms, this.#watched.heads);
    const base = { alarms, node, heads, judgedBy, refusal: null, lookedAtMs: nowMs };
    this.#show({ ...base, phase: "waiting", pauseMs: PERIOD_MS });
  }

  /** A trust root that has raised an alarm takes the place of none. The same one stays the same object. */
  #judgedBy({ documents }: NodeService, { alarms }: MonitorLook): JudgedBy | null {
    const { judgedBy } = this.#watched;
    if (alarms.some(({ originFingerprint }) => originFingerprint === null)) return judgedBy;
    const shown = documents.join("\n");
    if (judgedBy !== null && shown === this.#judgedDocuments) return judgedBy;
    const held = holdTrustRoots(documents, this.#pin);
    this.#judgedDocuments = shown;
    return held.state === "held" ? held.judgedBy : null;
  }

  /** Nothing was seen this time: what was seen before stays on the page with its time, unless it is proved no more. */
  #takeRefusal({ hasKey }: NodeService, error: unknown, change: Partial<Watched>): void {
    const backoffMs = PERIOD_MS * 2 ** Math.min(++this.#failures, 10);
    const pauseMs = Math.min(Math.max(backoffMs, pauseOf(error) ?? 0), BACKOFF_MAX_MS);
    const lost = isSilence(error) ? {} : { heads: [], judgedBy: null };
    const phase = isFinal(error) ? "refused" : "waiting";
    this.#show({ ...change, ...lost, refusal: refusalText(error, hasKey), pauseMs, phase });
  }
}
