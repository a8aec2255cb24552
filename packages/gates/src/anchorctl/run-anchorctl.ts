import { anchorctl } from "@event-anchoring/cli";

export interface Ended {
  readonly exitCode: number;
  readonly json: Readonly<Record<string, unknown>>;
}

/** One command line in this process; its JSON, whatever the exit code. */
export async function runAnchorctl(args: readonly string[]): Promise<Ended> {
  let stdout = "";
  const exitCode = await anchorctl([...args, "--json"], {
    stdout: { isTTY: false, write: (text) => (stdout += text) },
    stderr: { isTTY: false, write: () => {} },
    workingDir: "/",
    environment: {},
  });
  return { exitCode, json: JSON.parse(stdout) as Ended["json"] };
}

/** As `runAnchorctl`. @throws unless the exit code is 0 */
export async function mustAnchorctl(args: readonly string[]): Promise<Ended["json"]> {
  const { exitCode, json } = await runAnchorctl(args);
  if (exitCode !== 0) throw new Error(`anchorctl ${args.join(" ")}: ${exitCode} ${JSON.stringify(json)}`);
  return json;
}
