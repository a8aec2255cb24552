import { parseArgs } from "node:util";
import type { Scenario } from "../scenarios/scenario.ts";

export const BENCH_HELP = `Usage: npm run bench -- [options]

Measures certified writes: every request counted was answered with a receipt that a quorum of nodes has cosigned.
Starts a cluster of its own in a temporary folder, and deletes it afterwards. With etcd on the PATH, three members of it
are measured in the same way afterwards, and the ratios are printed.

Options:
  --cluster <path>     measure a running cluster instead (it gets new anchors): the folder of one on this machine, or a
                       file that says how a remote one is reached
  --against <folder>   measure loads on another built checkout as well, in turns, and print the ratios
  --rounds <n>         how often each has its turn with --against (default: 3)
  --seconds <n>        length of each measurement (default: 10)
  --lead-in <n>        at most so many seconds of load before each, until the rate is steady (default: 10; 0: none)
  --warm-up <n>        seconds of mixed load once for each cluster (default: 60; 0: none)
  --anchors <n>        how many anchors a growth writes (default: 10000000)
  --only <text>        only what has this in its name; several times: any of them. Finds opt-in scenarios too
  --list               name the scenarios and measure nothing
  --json               print one JSON object; progress goes to stderr
  --help, --version    print this, or the version
`;

export interface BenchOptions {
  readonly cluster: string | null;
  /** Another checkout, whose rows are compared. */
  readonly against: string | null;
  readonly rounds: number;
  readonly measureMs: number;
  readonly leadInMs: number;
  readonly warmUpMs: number;
  readonly anchors: number;
  /** Empty: everything but what is opt-in. */
  readonly only: readonly string[];
  readonly isList: boolean;
  readonly isJson: boolean;
}

const SECONDS_MAX = 3600;
const ROUNDS_MAX = 100;
const ANCHORS_MAX = 1_000_000_000;

/** @throws for an option that is unknown or invalid */
export function parseBenchOptions(args: readonly string[]): BenchOptions | "help" | "version" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      cluster: { type: "string" },
      against: { type: "string" },
      rounds: { type: "string", default: "3" },
      seconds: { type: "string", default: "10" },
      "lead-in": { type: "string", default: "10" },
      "warm-up": { type: "string", default: "60" },
      anchors: { type: "string", default: "10000000" },
      only: { type: "string", multiple: true, default: [] },
      list: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      version: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  if (values.version) return "version";
  if (values.against !== undefined && values.cluster !== undefined) {
    throw new Error("--against starts both clusters: it goes without --cluster");
  }
  return {
    cluster: values.cluster ?? null,
    against: values.against ?? null,
    rounds: countOf("--rounds", values.rounds, ROUNDS_MAX),
    anchors: countOf("--anchors", values.anchors, ANCHORS_MAX),
    measureMs: secondsOf("--seconds", values.seconds, 0.1) * 1000,
    leadInMs: secondsOf("--lead-in", values["lead-in"], 0) * 1000,
    warmUpMs: secondsOf("--warm-up", values["warm-up"], 0) * 1000,
    only: values.only.filter((text) => text !== ""),
    isList: values.list,
    isJson: values.json,
  };
}

/** @throws with the option's name */
export function secondsOf(name: string, text: string, min: number): number {
  const seconds = text.trim() === "" ? Number.NaN : Number(text);
  if (seconds >= min && seconds <= SECONDS_MAX) return seconds;
  throw new Error(`${name} must be a number of seconds from ${min} to ${SECONDS_MAX}, not "${text}"`);
}

/** @throws with the option's name */
function countOf(name: string, text: string, max: number): number {
  const count = /^\d+$/u.test(text) ? Number(text) : 0;
  if (count >= 1 && count <= max) return count;
  throw new Error(`${name} must be a whole number from 1 to ${max}, not "${text}"`);
}

/** What is to be run, in order. @throws when nothing has such a name */
export function chosen(scenarios: readonly Scenario[], only: readonly string[]): readonly Scenario[] {
  const found = scenarios.filter((scenario) =>
    only.length === 0 ? !isOptIn(scenario) : only.some((text) => scenario.name.includes(text)),
  );
  if (found.length === 0) throw new Error(`no scenario has ${only.join(" or ")} in its name; --list names them`);
  return found;
}

export function isOptIn(scenario: Scenario): boolean {
  return (scenario.kind === "cluster" || scenario.kind === "apart") && scenario.isOptIn;
}
