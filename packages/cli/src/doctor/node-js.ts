/** Whether Node.js is new enough. Older ones load this module, and little else of anchorctl. */
import { finding, jsonOf, lineOf } from "./mistakes.ts";
import type { Finding } from "./mistakes.ts";

/** The oldest release of Node.js that the programs run on. */
const NODE_JS_MIN = [20, 19] as const;

export function checkNodeJs(version: string): Finding[] {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [majorMin, minorMin] = NODE_JS_MIN;
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return [];
  return [finding("node_js_old", `Node.js ${version}: ${majorMin}.${minorMin} or newer is needed`)];
}

/** What anchorctl prints before it loads anything else, as doctor would; null: nothing keeps it from that. */
export function refusalOf(version: string, isJson: boolean): string | null {
  const findings = checkNodeJs(version);
  const [old] = findings;
  if (old === undefined) return null;
  if (!isJson) return `  ✗ ${lineOf(old)}\n`;
  const check = { check: "Node.js", findings, good: "", notLookedAt: "everything else: it needs a newer Node.js" };
  return `${JSON.stringify({ healthy: false, checks: [jsonOf(check)] }, null, 2)}\n`;
}
