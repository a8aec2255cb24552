import { NODE_FLAGS } from "@event-anchoring/dev-cluster";
import type { NodeFlags } from "@event-anchoring/dev-cluster";
import { COLLECTED_WHEN_ASKED } from "./full-collection.ts";

const LARGEST = /^--max-semi-space-size=(\d+)$/u;
const MIB = 2 ** 20;

/**
 * How Node is started in a day: with a young generation that has its largest size from the beginning. By itself V8 lets
 * it shrink where little is asked for, and keeps its pages for minutes: what a process held without it seemed to be
 * 130 MB more, of which nothing else had changed. And so that it can be asked for a full collection.
 */
export const NODE_FLAGS_OF_DAY: NodeFlags = {
  api: withLargest("api"),
  "control-plane": withLargest("control-plane"),
};

/**
 * Bytes of the young generation of a process in a day: two semi-spaces. What a process itself tells is less after each
 * full collection, while V8 keeps the pages.
 */
export function youngBytes(name: keyof NodeFlags): number {
  return 2 * semiSpaceMib(name) * MIB;
}

function withLargest(name: keyof NodeFlags): readonly string[] {
  return [...NODE_FLAGS[name], `--min-semi-space-size=${semiSpaceMib(name)}`, ...COLLECTED_WHEN_ASKED];
}

/** V8 takes the next power of two as the largest: with 24 MiB it begins with 24, and comes to 32. */
function semiSpaceMib(name: keyof NodeFlags): number {
  const [mib] = NODE_FLAGS[name].flatMap((flag) => LARGEST.exec(flag)?.[1] ?? []);
  if (mib === undefined) throw new Error(`${name} is started without a bound of its young generation`);
  return 2 ** Math.ceil(Math.log2(Number(mib)));
}
