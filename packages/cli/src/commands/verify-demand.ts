import type { GivenPin } from "../files/trust-roots.ts";

/** By what `anchorctl verify` judges, whatever it is given, and what it asks for beyond validity. */
export interface VerifyDemand {
  /** Files of signed trust roots, oldest first; empty: those of the nearest `.anchoring`. */
  readonly trustRoots: readonly string[];
  readonly pin: GivenPin | null;
  /** Whether what only an older trust root satisfies is refused. */
  readonly isCurrentRequired: boolean;
  /** Whether what too few witnesses have signed is refused: a receipt, or a head that a bundle rests on. */
  readonly isWitnessedRequired: boolean;
  readonly isJson: boolean;
  readonly workingDir: string;
}
