import { BackOff } from "./back-off.ts";
import type { EmbeddedPostgres, PostgresExit } from "./postgres.ts";

export interface SupervisedPostgresOptions {
  readonly server: EmbeddedPostgres;
  readonly onPid: (pid: number | null) => void;
  /** The server ended, or a start failed, without being asked. */
  readonly onEnd: (reason: string, restartInMs: number) => void;
}

/** A Postgres server that is started again when it ends by itself: stopped → running → waiting → running … */
export class SupervisedPostgres {
  readonly #options: SupervisedPostgresOptions;
  readonly #backOff = new BackOff();
  #restart: NodeJS.Timeout | null = null;
  #starting: Promise<void> | null = null;
  #startedAt = 0;
  #isWanted = false;

  constructor(options: SupervisedPostgresOptions) {
    this.#options = options;
    options.server.onExit((exit) => this.#ended(exit));
  }

  /** Resolves when the server takes connections. @throws the first time it does not come up */
  async start(): Promise<void> {
    this.#isWanted = true;
    await this.#launch();
  }

  /** Fast: sessions are ended, a checkpoint is written. */
  async stop(): Promise<void> {
    this.#giveUp();
    await this.#options.server.stop({ mode: "fast" });
    await this.#starting;
  }

  /** SIGKILL, and no start again. */
  async kill(): Promise<void> {
    this.#giveUp();
    await this.#options.server.kill();
    await this.#starting;
  }

  #giveUp(): void {
    this.#isWanted = false;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#restart = null;
  }

  async #launch(): Promise<void> {
    this.#startedAt = performance.now();
    await this.#options.server.start();
    this.#options.onPid(this.#options.server.pid);
  }

  #ended(exit: PostgresExit): void {
    this.#options.onPid(null);
    if (!this.#isWanted) return;
    this.#startAgain(`ended with ${exit.signal ?? `code ${exit.code ?? "unknown"}`}`);
  }

  #startAgain(reason: string): void {
    const delayMs = this.#backOff.delayAfter(performance.now() - this.#startedAt);
    this.#options.onEnd(reason, delayMs);
    this.#restart = setTimeout(() => {
      this.#restart = null;
      this.#starting = this.#launch().catch((error: unknown) => {
        if (this.#isWanted) this.#startAgain(error instanceof Error ? error.message : String(error));
      });
    }, delayMs);
  }
}
