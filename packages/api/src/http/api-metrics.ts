import { Counter, Gauge, Histogram, Registry } from "prom-client";
import type { DatabaseUsage } from "@event-anchoring/store";
import { type Logger, type TracerCounts, collectProcessMetrics } from "@event-anchoring/telemetry";
import { RefusedError } from "../control-plane/control-plane.ts";
import type { ControlPlane } from "../control-plane/control-plane.ts";
import type { StoppedReason } from "../control-plane/stopped-node.ts";
import { within } from "../request/deadline.ts";
import type { ConnectionRefusal } from "./connections.ts";

/** How long a scrape waits for the control plane. */
const CONTROL_PLANE_TIMEOUT_MS = 1000;
/** How long it waits for the database. */
const DATABASE_TIMEOUT_MS = 500;

const LAST_SUCCESS = "anchoring_prime_root_thk_last_sync_success_timestamp_seconds";
const LAST_SUCCESS_LINE = new RegExp(`^${LAST_SUCCESS} ([0-9.e+]+)$`, "mu");

/** Used when the control plane does not answer: both alerts on the root sync must still fire. */
function controlPlaneGone(lastSuccess: string): string {
  return [
    "# HELP anchoring_prime_root_thk_sync_error 1 if the trust root could not be compared with the prime's",
    "# TYPE anchoring_prime_root_thk_sync_error gauge",
    "anchoring_prime_root_thk_sync_error 1",
    `# HELP ${LAST_SUCCESS} When the control plane last said so; 0: not in the life of this process`,
    `# TYPE ${LAST_SUCCESS} gauge`,
    `${LAST_SUCCESS} ${lastSuccess}`,
    "",
  ].join("\n");
}

const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 31];

const DATABASE_GAUGES = [
  {
    of: "bytes",
    name: "anchoring_database_bytes",
    help: "Bytes of the node's database with its indexes, without the write-ahead log",
  },
  { of: "sessions", name: "anchoring_database_sessions", help: "Sessions in the node's database, of whomever" },
  { of: "sessionsMax", name: "anchoring_database_sessions_max", help: "Sessions that the server allows" },
] as const;

function statesHeldIn(registry: Registry): Counter<"outcome"> {
  const held = new Counter({
    name: "anchoring_api_states_held_total",
    help: "States that a quorum was asked to sign for proofs, by whether it did",
    labelNames: ["outcome"],
    registers: [registry],
  });
  for (const outcome of ["held", "refused"]) held.inc({ outcome }, 0);
  return held;
}

/** Every metric of this process, declared once. Labels are route ids, statuses and codes: all bounded. */
export class ApiMetrics {
  readonly #registry = new Registry();
  readonly #seconds: Histogram;
  readonly #problems: Counter;
  readonly #inFlight: Gauge;
  readonly #connectionsRefused: Counter<"reason">;
  readonly #followers: Gauge<"by"> = new Gauge({
    name: "anchoring_api_feed_followers",
    help: "Open feeds, by who is charged for them: a key, or the address of a visitor",
    labelNames: ["by"],
    registers: [this.#registry],
  });
  readonly #followersDropped: Counter = new Counter({
    name: "anchoring_api_feed_followers_dropped_total",
    help: "Followers that did not read what they were sent",
    registers: [this.#registry],
  });
  readonly #statesHeld: Counter<"outcome"> = statesHeldIn(this.#registry);
  readonly #controlPlaneUp: Gauge;
  readonly #nodeStopped: Gauge<"reason" | "check">;
  readonly #stoppedReason: () => StoppedReason | null;
  readonly #databaseUsage: () => Promise<DatabaseUsage | null>;
  readonly #database: readonly { readonly of: keyof DatabaseUsage; readonly gauge: Gauge }[];
  #lastSuccess = "0";

  /**
   * @param options.stoppedReason why the control plane of this node has ended for good; null: it has not said so
   * @param options.databaseUsage null: the database cannot be asked now
   * @param options.tlsExpiresMs when the listener's certificate expires, Unix milliseconds; null: plain HTTP
   * @param options.spans what became of spans; null: nothing is traced
   */
  constructor(options: {
    outstanding: () => number;
    tlsExpiresMs?: () => number | null;
    stoppedReason: () => StoppedReason | null;
    spans?: () => TracerCounts | null;
    databaseUsage: () => Promise<DatabaseUsage | null>;
  }) {
    this.#stoppedReason = options.stoppedReason;
    const registers = [this.#registry];
    for (const by of ["key", "address"]) this.#followers.set({ by }, 0);
    collectProcessMetrics(this.#registry, "anchoring_api_");
    this.#seconds = new Histogram({
      name: "anchoring_api_request_seconds",
      help: "Time from the headers of a request to the end of its answer",
      labelNames: ["route", "status"],
      buckets: SECONDS_BUCKETS,
      registers,
    });
    this.#problems = new Counter({
      name: "anchoring_api_problems_total",
      help: "Answers with a problem, by route and code",
      labelNames: ["route", "code"],
      registers,
    });
    this.#inFlight = new Gauge({
      name: "anchoring_api_requests_in_flight",
      help: "Requests that have no answer yet",
      registers,
    });
    this.#connectionsRefused = new Counter({
      name: "anchoring_api_connections_refused_total",
      help: "Connections closed as they came: their address had too many, or there were too many in all",
      labelNames: ["reason"],
      registers,
    });
    this.#controlPlaneUp = new Gauge({
      name: "anchoring_control_plane_up",
      help: "1 if the control plane of this node answered this scrape",
      registers,
    });
    this.#nodeStopped = new Gauge({
      name: "anchoring_node_stopped",
      help: "1 if the control plane of this node has ended for good and waits for a person",
      labelNames: ["reason", "check"],
      registers,
    });
    this.#addSpans(options.spans ?? (() => null));
    this.#databaseUsage = options.databaseUsage;
    this.#database = DATABASE_GAUGES.map(({ of, ...named }) => ({ of, gauge: new Gauge({ ...named, registers }) }));
    const { outstanding } = options;
    const outstandingGauge = new Gauge({
      name: "anchoring_api_link_outstanding",
      help: "Requests the control plane has not answered yet",
      registers: [],
      collect(this: Gauge): void {
        this.set(outstanding());
      },
    });
    this.#registry.registerMetric(outstandingGauge);
    this.#addExpiry(options.tlsExpiresMs ?? (() => null));
  }

  #addExpiry(tlsExpiresMs: () => number | null): void {
    const expiry = new Gauge({
      name: "anchoring_api_tls_certificate_expiry_timestamp_seconds",
      help: "When the certificate of the public listener expires; 0: plain HTTP",
      registers: [],
      collect(this: Gauge): void {
        this.set((tlsExpiresMs() ?? 0) / 1000);
      },
    });
    this.#registry.registerMetric(expiry);
  }

  /** Absent while the database does not answer: an old value would mislead. */
  async #askDatabase(): Promise<void> {
    const usage = await within(this.#databaseUsage(), DATABASE_TIMEOUT_MS, null);
    for (const { gauge, of } of this.#database) {
      if (usage === null) gauge.remove();
      else gauge.set(usage[of]);
    }
  }

  #addSpans(spans: () => TracerCounts | null): void {
    const made: Counter<"outcome"> = new Counter({
      name: "anchoring_api_spans_total",
      help: "Spans that ended, by what became of them; 0 while nothing is traced",
      labelNames: ["outcome"],
      registers: [this.#registry],
      collect: () => {
        made.reset();
        const { exported = 0, dropped = 0, failed = 0 } = spans() ?? {};
        made.inc({ outcome: "exported" }, exported);
        made.inc({ outcome: "dropped" }, dropped);
        made.inc({ outcome: "failed" }, failed);
      },
    });
  }

  begin(): void {
    this.#inFlight.inc();
  }

  end(route: string, status: number, seconds: number): void {
    this.#inFlight.dec();
    this.#seconds.observe({ route, status: String(status) }, seconds);
  }

  problem(route: string, code: string): void {
    this.#problems.inc({ route, code });
  }

  connectionRefused(reason: ConnectionRefusal): void {
    this.#connectionsRefused.inc({ reason });
  }

  followerCame(isVisit: boolean): void {
    this.#followers.inc({ by: isVisit ? "address" : "key" });
  }

  followerLeft(isVisit: boolean): void {
    this.#followers.dec({ by: isVisit ? "address" : "key" });
  }

  stateHeld(outcome: "held" | "refused"): void {
    this.#statesHeld.inc({ outcome });
  }

  followerDropped(): void {
    this.#followersDropped.inc();
  }

  /**
   * The text of a scrape: this process, then the control plane of the node. Never fails for lack of the control plane.
   */
  async text(controlPlane: ControlPlane, logger: Logger): Promise<string> {
    let nodeText = controlPlaneGone(this.#lastSuccess);
    let isUp = false;
    try {
      nodeText = await controlPlane.metrics(CONTROL_PLANE_TIMEOUT_MS);
      isUp = true;
      this.#lastSuccess = LAST_SUCCESS_LINE.exec(nodeText)?.[1] ?? this.#lastSuccess;
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      logger.warn("no metrics of the control plane", { err: error });
    }
    this.#controlPlaneUp.set(isUp ? 1 : 0);
    this.#nodeStopped.reset();
    const stopped = isUp ? null : this.#stoppedReason();
    if (stopped !== null) this.#nodeStopped.set({ reason: stopped.reason, check: stopped.check }, 1);
    await this.#askDatabase();
    return `${await this.#registry.metrics()}\n${nodeText}`;
  }
}
