import type { Output } from "./printer.ts";

const SILENT_MS = 1000;
const LINE_EVERY_MS = 5000;

/**
 * Says how far a long command is: nothing in its first second; then one line that is rewritten on a terminal, or a line
 * every few seconds in a log.
 */
export class Progress {
  readonly #output: Output;
  readonly #startedAt = performance.now();
  #saidAt = 0;
  #width = 0;

  constructor(output: Output) {
    this.#output = output;
  }

  say(text: string): void {
    const elapsedMs = performance.now() - this.#startedAt;
    if (elapsedMs < SILENT_MS) return;
    if (this.#output.isTTY) {
      this.#output.write(`\r${text.padEnd(this.#width)}`);
      this.#width = text.length;
    } else if (this.#saidAt === 0 || elapsedMs - this.#saidAt >= LINE_EVERY_MS) {
      this.#output.write(`${text}\n`);
      this.#saidAt = elapsedMs;
    }
  }

  /** Said at once, before work that cannot say how far it is. */
  line(text: string): void {
    this.end();
    this.#output.write(`${text}\n`);
  }

  /** Clears the line, so that the result begins at its start. */
  end(): void {
    if (this.#width === 0) return;
    this.#output.write(`\r${" ".repeat(this.#width)}\r`);
    this.#width = 0;
  }
}
