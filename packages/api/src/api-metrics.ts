import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from "prom-client";
import type { ControlPlane, Logger } from "./ports.ts";
import { RefusedError } from "./ports.ts";

/** How long a scrape waits for the control plane. */
const CONTROL_PLANE_TIMEOUT_MS = 1000;

/** Said in place of the control plane when it does not answer: both alerts on the root sync must still fire. */
const CONTROL_PLANE_GONE = [
  "# HELP anchoring_prime_root_thk_sync_error 1 if the trust root could not be compared with the prime's",
  "# TYPE anchoring_prime_root_thk_sync_error gauge",
  "anchoring_prime_root_thk_sync_error 1",
  "",
].join("\n");

const SECONDS_BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15, 31];

/** Every metric of this process, declared once. Labels are route ids, statuses and codes: all bounded. */
export class ApiMetrics {
  readonly #registry = new Registry();
  readonly #seconds: Histogram;
  readonly #problems: Counter;
  readonly #inFlight: Gauge;
  readonly #controlPlaneUp: Gauge;

  constructor(options: { outstanding: () => number }) {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry, prefix: "anchoring_api_" });
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
    this.#controlPlaneUp = new Gauge({
      name: "anchoring_control_plane_up",
      help: "1 if the control plane of this node answered this scrape",
      registers,
    });
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

  /** The text of a scrape: this process, then the control plane of the node. Never fails for lack of the latter. */
  async text(controlPlane: ControlPlane, logger: Logger): Promise<string> {
    let nodeText = CONTROL_PLANE_GONE;
    let isUp = false;
    try {
      nodeText = await controlPlane.metrics(CONTROL_PLANE_TIMEOUT_MS);
      isUp = true;
    } catch (error) {
      if (!(error instanceof RefusedError)) throw error;
      logger.warn({ err: error }, "no metrics of the control plane");
    }
    this.#controlPlaneUp.set(isUp ? 1 : 0);
    return `${await this.#registry.metrics()}\n${nodeText}`;
  }
}
