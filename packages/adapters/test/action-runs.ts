import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** The step as it is built, before it is bundled. */
const BUILT = join(import.meta.dirname, "..", "dist", "github-action", "main.js");

/** How a step has ended. */
export interface EndedStep {
  readonly code: number;
  readonly stdout: string;
  readonly outputs: string;
  readonly summary: string;
}

/** A job of a runner's: a workspace with two artefacts, and the variables that every step has. */
export class Job {
  readonly folder: string = mkdtempSync(join(tmpdir(), "anchoring-action-"));
  readonly workspace: string = join(this.folder, "work");
  readonly #main: string;

  /** @param main the program of the step */
  constructor(main: string = BUILT) {
    this.#main = main;
    mkdirSync(join(this.workspace, "dist", "sub"), { recursive: true });
    mkdirSync(join(this.folder, "temp"));
    writeFileSync(join(this.workspace, "dist", "app.tar.gz"), "the program");
    writeFileSync(join(this.workspace, "dist", "sub", "notes.txt"), "what is new");
  }

  read(file: string): string {
    return readFileSync(join(this.workspace, file), "utf8");
  }

  /** Runs the step as a runner does: by variables alone. */
  async run(inputs: Readonly<Record<string, string>>): Promise<EndedStep> {
    const [output, summary] = [join(this.folder, "output"), join(this.folder, "summary")];
    for (const file of [output, summary]) writeFileSync(file, "");
    const given = Object.entries(inputs).map(([name, value]) => [`INPUT_${name.toUpperCase()}`, value]);
    const env = {
      PATH: process.env["PATH"],
      CI: "true",
      GITHUB_ACTIONS: "true",
      GITHUB_ACTOR: "ada",
      GITHUB_EVENT_NAME: "push",
      GITHUB_JOB: "release",
      GITHUB_OUTPUT: output,
      GITHUB_REF: "refs/tags/v1.0.0",
      GITHUB_REPOSITORY: "example/app",
      GITHUB_RUN_ATTEMPT: "1",
      GITHUB_RUN_ID: "4711",
      GITHUB_SERVER_URL: "https://github.com",
      GITHUB_SHA: "ffac537e6cbbf934b08745a378932722df287a53",
      GITHUB_STEP_SUMMARY: summary,
      GITHUB_WORKFLOW_REF: "example/app/.github/workflows/release.yml@refs/tags/v1.0.0",
      GITHUB_WORKSPACE: this.workspace,
      RUNNER_TEMP: join(this.folder, "temp"),
      ...Object.fromEntries(given),
    };
    const ended = await promisify(execFile)(process.execPath, [this.#main], {
      cwd: this.workspace,
      env,
      timeout: 60_000,
    }).then(
      ({ stdout }) => ({ code: 0, stdout }),
      ({ code, stdout }: { readonly code: number; readonly stdout: string }) => ({ code, stdout }),
    );
    return { ...ended, outputs: readFileSync(output, "utf8"), summary: readFileSync(summary, "utf8") };
  }

  end(): void {
    rmSync(this.folder, { recursive: true });
  }
}
