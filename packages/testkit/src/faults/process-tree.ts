import { readFileSync, readdirSync } from "node:fs";

/** A process and all that descend from it, the ancestor first. Linux: it is read from /proc. */
export function processTree(pid: number): readonly number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync("/proc")) {
    const parent = /^\d+$/.test(name) ? parentOf(Number(name)) : null;
    if (parent !== null) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const tree = [pid];
  // Grows as it is walked.
  for (const one of tree) tree.push(...(children.get(one) ?? []));
  return tree;
}

/** Null: it has ended meanwhile. */
function parentOf(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program, in parentheses, may hold spaces.
    const [, parent] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return Number(parent);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ESRCH") return null;
    throw error;
  }
}

/** What has ended meanwhile needs no signal. */
export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}
