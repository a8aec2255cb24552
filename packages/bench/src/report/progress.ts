import { terminalReporter } from "@event-anchoring/dev-cluster";
import type { Reporter, Terminal } from "@event-anchoring/dev-cluster";

/** What a waiting user sees: lines that stay and, on a terminal, one line that changes. */
export interface Progress {
  readonly reporter: Reporter;
  /** Shown until the next line or state; not at all where lines cannot be taken back. */
  state(text: string): void;
  line(text: string): void;
}

export function progressOn(terminal: Terminal): Progress {
  let isStateShown = false;
  const clear = (): void => {
    if (isStateShown) terminal.write("\r\u001b[2K");
    isStateShown = false;
  };
  const reporter = terminalReporter(terminal);
  return {
    reporter: {
      step: (title, run) => {
        clear();
        return reporter.step(title, run);
      },
      notice: (message) => {
        clear();
        reporter.notice(message);
      },
    },
    state: (text) => {
      if (!terminal.isTTY) return;
      clear();
      terminal.write(`  … ${text}`);
      isStateShown = true;
    },
    line: (text) => {
      clear();
      terminal.write(`${text}\n`);
    },
  };
}
