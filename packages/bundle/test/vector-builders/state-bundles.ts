import { bundleJson } from "./bundle-cases.ts";
import { NAMED } from "./bundle-named.ts";
import { badStateBundles, malformedStateBundles } from "./bundle-state-bad.ts";
import { goodStateBundles } from "./bundle-state-good.ts";
import { badWitnessedStates, goodWitnessedStates } from "./bundle-witnessed.ts";
import { badJson, goodJson } from "./bundles.ts";
import { formatBundle } from "../../src/index.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

function named<Case extends { readonly name: string }>(entry: Case): Case {
  return { ...entry, name: `state head: ${entry.name}` };
}

export function stateBundleVectors(): Json {
  return {
    about:
      "Bundles with a state head, in the form of bundle.json: `of` is always `state`. `state` and `in_force` of a " +
      "good case, where they are given, are the state of the claim or grant that it is about, and whether it is in " +
      "force at as_of.",
    bundles: { state: bundleJson(NAMED.state.bundle) },
    good: [...goodStateBundles(), ...goodWitnessedStates()].map(named).map(goodJson),
    bad: [...badStateBundles(), ...badWitnessedStates()].map(named).map(badJson),
    equal: [{ name: "as it is written", text: formatBundle(NAMED.state.bundle) }],
    malformed: malformedStateBundles().map(([name, error, text]) => ({ name, error, text })),
  };
}
