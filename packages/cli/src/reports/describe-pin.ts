/** The text about the pin, on which every other part of a verdict depends. */
import { bytesToHex } from "@event-anchoring/protocol";
import type { Printer } from "../terminal/printer.ts";
import { PIN_SOURCES } from "../files/trust-roots.ts";
import type { HeldTrustRoots, Pin } from "../files/trust-roots.ts";

/** RootTHK of the first version held: what is pinned, or has to be compared. */
function firstRootThk({ chain }: HeldTrustRoots): string {
  return bytesToHex((chain.versions[0] ?? chain.newest).rootThk);
}

function sourceText({ source, path }: Pin): string {
  return source === "file" ? (path ?? "") : PIN_SOURCES[source];
}

export function printPin(printer: Printer, held: HeldTrustRoots): void {
  const { pin } = held;
  if (pin === null) printer.check("warn", "pin", `none: whose trust root this is was not checked (--root-thk)`);
  else printer.check("pass", "pin", `RootTHK ${firstRootThk(held)}, from ${sourceText(pin)}`);
}

/** What to compare, and with what, before anything that was judged here is believed. */
export function notPinnedText(held: HeldTrustRoots): string {
  const { trustRoot } = held.chain.versions[0] ?? held.chain.newest;
  return (
    `compare the RootTHK of trust root ${trustRoot.version}, ${firstRootThk(held)}, with the one that the ` +
    `operators of ${trustRoot.clusterName} have published or told you, by another way than these files; then pass ` +
    "that one as --root-thk."
  );
}

export function pinJson(held: HeldTrustRoots): object {
  const { pin } = held;
  return { source: pin?.source ?? null, path: pin?.path ?? null, root_thk: firstRootThk(held) };
}
