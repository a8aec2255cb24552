/** The line about the pin, which comes first. */
import { firstRootThk } from "@event-anchoring/verdicts";
import type { JudgedBy, ShownStep } from "@event-anchoring/verdicts";

/** What a person does with a RootTHK that was compared, as the end of a sentence. */
export const PIN_ADVICE = "type that one into the pin field";

export function pinStep(judgedBy: JudgedBy): ShownStep {
  if (judgedBy.pin === null)
    return { mark: "warn", label: "pin", detail: "none: whose trust root this is was not checked" };
  return { mark: "pass", label: "pin", detail: `RootTHK ${firstRootThk(judgedBy)}, from the pin field` };
}
