import { styleText } from "node:util";
import type { Reporter } from "./embedded-cluster.ts";

export interface Terminal {
  readonly isTTY: boolean;
  write(text: string): void;
}

/** Whether a terminal wants colours. See https://no-color.org. */
export function wantsColour(terminal: Terminal): boolean {
  return terminal.isTTY && (process.env["NO_COLOR"] ?? "") === "";
}

/**
 * Shows steps as lines: on a terminal the running step is replaced by its result; elsewhere (a file, CI) each step is a
 * line when it begins and a line when it ends.
 */
export function terminalReporter(terminal: Terminal): Reporter {
  const paint = (format: "green" | "red" | "yellow" | "dim", text: string): string =>
    wantsColour(terminal) ? styleText(format, text) : text;
  let running: string | null = null;
  const show = (text: string | null): void => {
    if (terminal.isTTY && running !== null) terminal.write("\r\u001b[2K");
    running = text;
    if (text !== null) terminal.write(terminal.isTTY ? `  … ${text}` : `… ${text}\n`);
  };
  const line = (text: string): void => {
    const interrupted = running;
    if (terminal.isTTY && interrupted !== null) terminal.write("\r\u001b[2K");
    terminal.write(`${text}\n`);
    if (terminal.isTTY && interrupted !== null) terminal.write(`  … ${interrupted}`);
  };
  return {
    step: async (title, run) => {
      const startedAt = performance.now();
      show(title);
      try {
        const result = await run();
        const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
        show(null);
        line(`  ${paint("green", "✓")} ${title} ${paint("dim", `${seconds} s`)}`);
        return result;
      } catch (error) {
        show(null);
        line(`  ${paint("red", "✗")} ${title}`);
        throw error;
      }
    },
    notice: (message) => line(`  ${paint("yellow", "!")} ${message}`),
  };
}
