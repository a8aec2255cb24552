import { parseArgs } from "node:util";
import { secondsOf } from "../run/bench-options.ts";

export const PROFILE_HELP = `Usage: npm run profile -- [options]

Runs one load of npm run bench and takes CPU profiles of the Node processes behind it. Prints where the time of each
went, by function and by file, and leaves .cpuprofile files, which Chrome's DevTools and VS Code open.
Starts a cluster of its own in a temporary folder, and deletes it afterwards.

Options:
  --load <text>        the load whose name has this in it (default: "single writes, 64 clients, all nodes")
  --process <kind>     api or control_plane; several times: all of them (default: both)
  --node <name>        leader, follower, or an id such as n1; several times: all of them (default: leader and follower)
  --cluster <folder>   use the running cluster of this folder instead (it gets new anchors)
  --seconds <n>        how long the profile takes (default: 8)
  --lead-in <n>        at most so many seconds of load before, until the rate is steady (default: 20)
  --interval <n>       microseconds from sample to sample (default: 500)
  --top <n>            functions and files printed for each process (default: 25)
  --out <folder>       where the .cpuprofile files go (default: a new folder for temporary files)
  --help, --version    print this, or the version
`;

/** The Node processes of a node. Postgres is none; its processor time is printed as a sum. */
const PROFILED = ["api", "control_plane"] as const;
export type ProfiledProcess = (typeof PROFILED)[number];

export interface ProfileOptions {
  readonly load: string;
  readonly processes: readonly ProfiledProcess[];
  readonly nodes: readonly string[];
  readonly cluster: string | null;
  readonly measureMs: number;
  readonly leadInMs: number;
  readonly intervalUs: number;
  readonly top: number;
  readonly out: string | null;
}

/** @throws for an option that is unknown or invalid */
export function parseProfileOptions(args: readonly string[]): ProfileOptions | "help" | "version" {
  const { values } = parseArgs({
    args: [...args],
    options: {
      load: { type: "string", default: "single writes, 64 clients, all nodes" },
      process: { type: "string", multiple: true, default: [...PROFILED] },
      node: { type: "string", multiple: true, default: ["leader", "follower"] },
      cluster: { type: "string" },
      seconds: { type: "string", default: "8" },
      "lead-in": { type: "string", default: "20" },
      interval: { type: "string", default: "500" },
      top: { type: "string", default: "25" },
      out: { type: "string" },
      help: { type: "boolean", default: false },
      version: { type: "boolean", default: false },
    },
  });
  if (values.help) return "help";
  if (values.version) return "version";
  return {
    load: values.load,
    processes: values.process.map(processOf),
    nodes: values.node,
    cluster: values.cluster ?? null,
    measureMs: secondsOf("--seconds", values.seconds, 0.1) * 1000,
    leadInMs: secondsOf("--lead-in", values["lead-in"], 0) * 1000,
    intervalUs: wholeNumberOf("--interval", values.interval, 50),
    top: wholeNumberOf("--top", values.top, 1),
    out: values.out ?? null,
  };
}

function processOf(text: string): ProfiledProcess {
  const found = PROFILED.find((each) => each === text);
  if (found === undefined) throw new Error(`--process must be ${PROFILED.join(" or ")}, not "${text}"`);
  return found;
}

function wholeNumberOf(name: string, text: string, min: number): number {
  const value = /^\d{1,9}$/u.test(text) ? Number(text) : Number.NaN;
  if (value >= min) return value;
  throw new Error(`${name} must be a whole number from ${min}, not "${text}"`);
}
