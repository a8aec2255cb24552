import { spawn } from "node:child_process";
import { ReleaseError } from "./artefact.ts";

/** How a program is started. */
export interface RunOptions {
  readonly cwd?: string;
  /** Variables beside those of this process; undefined takes one away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/**
 * Runs a program to its end.
 * @returns what it wrote to stdout
 * @throws ReleaseError if it is not on this machine, or fails: with what it wrote
 */
export async function run(program: string, args: readonly string[], options: RunOptions = {}): Promise<string> {
  const { cwd, env } = options;
  const child = spawn(program, args, {
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const texts = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => (texts[name] += text));
  }
  const status = await new Promise<number | string>((resolve, reject) => {
    child.once("error", (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === "ENOENT";
      reject(isMissing ? new ReleaseError(`${program} is needed, and is not on this machine`) : error);
    });
    child.once("close", (code, signal) => resolve(code ?? signal ?? "no exit code"));
  });
  if (status === 0) return texts.stdout;
  const command = [program, ...args].join(" ");
  throw new ReleaseError(`${command} ended with ${status}:\n${texts.stdout}${texts.stderr}`.trimEnd());
}
