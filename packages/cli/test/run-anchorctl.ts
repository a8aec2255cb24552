import { anchorctl } from "../src/index.ts";

export interface Run {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs one command line in a folder, as a person without a terminal would. */
export async function runAnchorctl(
  workingDir: string,
  args: readonly string[],
  environment: Readonly<Record<string, string>> = {},
): Promise<Run> {
  let stdout = "";
  let stderr = "";
  const exitCode = await anchorctl(args, {
    stdout: { isTTY: false, write: (text) => (stdout += text) },
    stderr: { isTTY: false, write: (text) => (stderr += text) },
    workingDir,
    environment,
  });
  return { exitCode, stdout, stderr };
}
