/** What the page says of one thing that was given. */
import type { BundleVerification } from "@event-anchoring/bundle";
import type { Leaf } from "@event-anchoring/protocol";
import type { Mark, ShownStep } from "@event-anchoring/verdicts";
import type { GivenOf } from "../given/given.ts";

/** A bundle that holds together, for the chain that is drawn from it. */
export interface JudgedBundle {
  readonly given: GivenOf<"bundle">;
  readonly verification: BundleVerification;
  /** Without a pin nothing is shown as good. */
  readonly isPinned: boolean;
  /** The same bundle judged as of another position. */
  readonly judgeAt: (position: { readonly sequence: number; readonly timeMs: number }) => BundleVerification;
}

export interface Judged {
  readonly name: string;
  /** What it is, for a person. */
  readonly kind: "receipt" | "bundle" | "scope" | "checkpoint" | "trust root";
  /** `pass` only if everything is proved from a pin. */
  readonly mark: Mark;
  /** The sentence at the end; its first words are the verdict. */
  readonly text: string;
  readonly steps: readonly ShownStep[];
  /** What a receipt is of, unless it is malformed. */
  readonly leaf: Leaf | null;
  readonly bundle: JudgedBundle | null;
}
