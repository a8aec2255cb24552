/** The programs that verify offline, each asked by the same command lines. */
import { spawn, spawnSync } from "node:child_process";
import { createInterface } from "node:readline";
import { anchorctl } from "@event-anchoring/cli";
import { findPythonWith, findRustProgram } from "@event-anchoring/testkit/sdks";

/** What a program says with `--json`, without what is worded for people. */
export interface Judged {
  readonly exitCode: number | null;
  readonly answer: unknown;
}

export interface VerifierProgram {
  readonly name: "anchorctl" | "anchor-verify" | "python";
  /** @param args behind `verify` */
  judge(args: readonly string[]): Promise<Judged>;
  end(): void;
}

/** Sentences may differ from program to program, and anchorctl alone reads what an envelope says. */
function withoutWords(text: string): unknown {
  return JSON.parse(text, (name, value: unknown) => (name === "detail" || name === "envelope" ? undefined : value));
}

const inProcess: VerifierProgram = {
  name: "anchorctl",
  judge: async (args) => {
    let said = "";
    const stdout = { isTTY: false, write: (text: string) => (said += text) };
    const stderr = { isTTY: false, write: () => undefined };
    const exitCode = await anchorctl(["verify", ...args, "--json"], {
      stdout,
      stderr,
      workingDir: "/",
      environment: {},
    });
    return { exitCode, answer: withoutWords(said) };
  },
  end: () => undefined,
};

function rustProgram(): VerifierProgram | null {
  const program = findRustProgram(["debug"], /^anchor-verify$/, ["src"]);
  if (program === null) return null;
  return {
    name: "anchor-verify",
    judge: (args) => {
      const { status, stdout } = spawnSync(program, [...args, "--json"], { encoding: "utf8", env: {} });
      return Promise.resolve({ exitCode: status, answer: withoutWords(stdout) });
    },
    end: () => undefined,
  };
}

/** Runs one command line after another: an interpreter for each would take minutes. */
const LOOP = `
import contextlib, io, json, sys
from event_anchoring._verifying.command import main
for line in sys.stdin:
    with contextlib.redirect_stdout(io.StringIO()) as said:
        code = main(json.loads(line))
    print(json.dumps([code, said.getvalue()]), flush=True)
`;

function pythonProgram(): VerifierProgram | null {
  const python = findPythonWith("event_anchoring._verifying.command");
  if (python === null) return null;
  const child = spawn(python.program, ["-c", LOOP], {
    env: { ...process.env, ...python.environment },
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    name: "python",
    judge: async (args) => {
      child.stdin.write(`${JSON.stringify(["verify", ...args, "--json"])}\n`);
      const line = await lines.next();
      if (line.done === true) throw new Error("the Python verifier has ended");
      const [exitCode, said] = JSON.parse(line.value) as [number, string];
      return { exitCode, answer: withoutWords(said) };
    },
    end: () => child.stdin.end(),
  };
}

/** Those that are on this machine; anchorctl is the first, and always there. */
export function verifierPrograms(): readonly VerifierProgram[] {
  return [inProcess, rustProgram(), pythonProgram()].filter((program) => program !== null);
}
