import { readFileSync } from "node:fs";

/** States of RFC 9293: open, or closed by the other side alone. The others are the kernel's affair. */
const HELD = new Set(["01", "08"]);

/** How many connections to a local TCP port its server still holds, as Linux counts them. */
export function heldSockets(port: number): number {
  const wanted = port.toString(16).toUpperCase().padStart(4, "0");
  return ["/proc/net/tcp", "/proc/net/tcp6"].flatMap(readTable).filter(({ localPort, state }) => {
    return localPort === wanted && HELD.has(state);
  }).length;
}

function readTable(path: string): readonly { readonly localPort: string; readonly state: string }[] {
  const rows = readFileSync(path, "utf8").trim().split("\n").slice(1);
  return rows.map((row) => {
    const [, local = "", , state = ""] = row.trim().split(/\s+/);
    return { localPort: local.split(":")[1] ?? "", state };
  });
}
