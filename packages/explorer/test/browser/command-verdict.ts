/** What `anchorctl verify` says, in the form that the page shows it. */
import { anchorctl } from "@event-anchoring/cli";

export interface CommandVerdict {
  readonly exitCode: number;
  readonly sentence: string;
  /** `sign|label|detail`, the line about the pin aside. */
  readonly steps: readonly string[];
}

const STEP = /^ {2}(\S) (.{14}) (.*)$/u;
/** anchorctl prints a hyphen where the page has a dash. */
const SIGNS: Readonly<Record<string, string>> = { "-": "–" };

export async function commandVerdict(workingDir: string, args: readonly string[]): Promise<CommandVerdict> {
  let stdout = "";
  let stderr = "";
  const exitCode = await anchorctl(["verify", ...args], {
    stdout: { isTTY: false, write: (text) => (stdout += text) },
    stderr: { isTTY: false, write: (text) => (stderr += text) },
    workingDir,
    environment: {},
  });
  const lines = stdout.trimEnd().split("\n");
  const steps = lines.flatMap((line) => {
    const [, sign = "", label = "", detail = ""] = STEP.exec(line) ?? [];
    return sign === "" || label.trim() === "pin" ? [] : [`${SIGNS[sign] ?? sign}|${label.trim()}|${detail}`];
  });
  return { exitCode, sentence: stdout === "" ? stderr.trim() : (lines.at(-1) ?? ""), steps };
}

/** The colour of a verdict, by the exit code of the command. */
export const MARK_OF_EXIT: Readonly<Record<number, string>> = { 0: "pass", 1: "fail", 5: "warn", 6: "warn" };
