/** `anchorctl monitor` as an auditor runs it: without a key, again and again, until it raises an alarm. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { until } from "@event-anchoring/testkit";
import { CHECKOUT } from "../../packages/explorer/test/browser/proof-page.ts";

const ANCHORCTL = join(CHECKOUT, "packages/cli/bin/anchorctl.js");

interface Look {
  readonly consistent: boolean;
  readonly alarms: readonly { readonly code: string; readonly origin_fingerprint: string | null }[];
}

export class MonitorProcess {
  readonly #child: ChildProcess;
  readonly #looks: Look[] = [];
  #errors = "";

  /** @param home a folder of its own, for what it has seen */
  constructor(home: string, { address, trustRoot, rootThk }: { address: string; trustRoot: string; rootThk: string }) {
    const trust = ["--trust-root", trustRoot, "--root-thk", rootThk];
    const args = ["monitor", "--api-url", address, ...trust, "--state", join(home, "seen.json"), "--interval", "1s"];
    this.#child = spawn(process.execPath, [ANCHORCTL, ...args, "--json"], {
      cwd: home,
      env: { PATH: process.env["PATH"], HOME: home },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const { stdout, stderr } = this.#child;
    if (stdout !== null)
      createInterface({ input: stdout }).on("line", (line) => this.#looks.push(JSON.parse(line) as Look));
    stderr?.setEncoding("utf8").on("data", (text: string) => (this.#errors += text));
  }

  /** It has seen every tree once. */
  async watches(): Promise<void> {
    await until("the monitor has looked", () => {
      if (this.#child.exitCode !== null) throw new Error(`the monitor has ended: ${this.#errors}`);
      return this.#looks.length > 0;
    });
  }

  /** What it ends with. */
  async alarm(): Promise<{ readonly exitCode: number | null; readonly alarms: Look["alarms"] }> {
    if (this.#child.exitCode === null) await once(this.#child, "close");
    return { exitCode: this.#child.exitCode, alarms: this.#looks.at(-1)?.alarms ?? [] };
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    this.#child.kill();
    await once(this.#child, "close");
  }
}
