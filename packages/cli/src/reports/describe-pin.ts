/** The text about the pin, on which every other part of a verdict depends. */
import { firstRootThk } from "@event-anchoring/verdicts";
import type { Printer } from "../terminal/printer.ts";
import { PIN_SOURCES } from "../files/trust-roots.ts";
import type { HeldTrustRoots, Pin } from "../files/trust-roots.ts";

/** What a person does with a RootTHK that was compared, as the end of a sentence. */
export const PIN_ADVICE = "pass that one as --root-thk";

function sourceText({ source, path }: Pin): string {
  return source === "file" ? (path ?? "") : PIN_SOURCES[source];
}

export function printPin(printer: Printer, held: HeldTrustRoots): void {
  const { pin } = held;
  if (pin === null) printer.check("warn", "pin", `none: whose trust root this is was not checked (--root-thk)`);
  else printer.check("pass", "pin", `RootTHK ${firstRootThk(held)}, from ${sourceText(pin)}`);
}

export function pinJson(held: HeldTrustRoots): object {
  const { pin } = held;
  return { source: pin?.source ?? null, path: pin?.path ?? null, root_thk: firstRootThk(held) };
}
