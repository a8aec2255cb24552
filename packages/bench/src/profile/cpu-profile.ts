/** What a V8 CPU profile says: where the time of one thread went. */

interface CallFrame {
  readonly functionName: string;
  readonly url: string;
  /** From 0. */
  readonly lineNumber: number;
}

/** The format of `.cpuprofile` files: `Profiler.Profile` of the Chrome DevTools Protocol. Times are microseconds. */
export interface CpuProfile {
  readonly nodes: readonly { readonly id: number; readonly callFrame: CallFrame }[];
  readonly startTime: number;
  readonly endTime: number;
  /** Ids of nodes. */
  readonly samples: readonly number[];
  /** From the sample before, or from the start, to each sample. */
  readonly timeDeltas: readonly number[];
}

export interface SelfTime {
  /** A function, or a file. */
  readonly name: string;
  /** Where a function begins: file and line from 1; empty for what is no function of a file. */
  readonly place: string;
  readonly us: number;
}

export interface ProfileSummary {
  readonly totalUs: number;
  /** Nothing to do. */
  readonly idleUs: number;
  readonly gcUs: number;
  /** Native code that no function is named for: system calls, the event loop, the compiler. */
  readonly nativeUs: number;
  /** Most time first; without idle, garbage collection and native code. */
  readonly functions: readonly SelfTime[];
  readonly files: readonly SelfTime[];
}

const IDLE = "(idle)";
const GC = "(garbage collector)";
const NATIVE = new Set(["(program)", "(root)"]);

/** @param checkout prefix of file URLs that is left out, such as `file:///home/me/anchoring/` */
export function summarise(profile: CpuProfile, checkout: string): ProfileSummary {
  const selfUs = selfTimes(profile);
  let [totalUs, idleUs, gcUs, nativeUs] = [0, 0, 0, 0];
  const functions = new Map<string, SelfTime>();
  const files = new Map<string, SelfTime>();
  for (const { id, callFrame } of profile.nodes) {
    const us = selfUs.get(id) ?? 0;
    const { functionName, url, lineNumber } = callFrame;
    totalUs += us;
    if (functionName === IDLE) idleUs += us;
    else if (functionName === GC) gcUs += us;
    else if (NATIVE.has(functionName)) nativeUs += us;
    else if (us > 0) {
      const file = url === "" ? "(built in)" : url.replace(checkout, "");
      const place = url === "" ? "" : `${file}:${lineNumber + 1}`;
      add(functions, { name: functionName === "" ? "(anonymous)" : functionName, place, us });
      add(files, { name: file, place: "", us });
    }
  }
  return { totalUs, idleUs, gcUs, nativeUs, functions: mostFirst(functions), files: mostFirst(files) };
}

/** A sample counts for the time from itself to the next one. */
function selfTimes({ samples, timeDeltas, startTime, endTime }: CpuProfile): ReadonlyMap<number, number> {
  const selfUs = new Map<number, number>();
  let at = startTime;
  for (const [i, id] of samples.entries()) {
    at += timeDeltas[i] ?? 0;
    const us = Math.max(0, timeDeltas[i + 1] ?? endTime - at);
    selfUs.set(id, (selfUs.get(id) ?? 0) + us);
  }
  return selfUs;
}

function add(sums: Map<string, SelfTime>, { name, place, us }: SelfTime): void {
  const key = `${name} ${place}`;
  sums.set(key, { name, place, us: us + (sums.get(key)?.us ?? 0) });
}

function mostFirst(sums: ReadonlyMap<string, SelfTime>): readonly SelfTime[] {
  return [...sums.values()].toSorted((a, b) => b.us - a.us);
}

/** @throws for what is no CPU profile */
export function parseCpuProfile(text: string): CpuProfile {
  const value: unknown = JSON.parse(text);
  if (typeof value === "object" && value !== null && "nodes" in value && "samples" in value && "timeDeltas" in value) {
    if ([value.nodes, value.samples, value.timeDeltas].every((each) => Array.isArray(each))) return value as CpuProfile;
  }
  throw new Error("not a CPU profile");
}
