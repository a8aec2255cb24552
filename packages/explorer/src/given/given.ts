/** What a reader has dropped, chosen or pasted, once it is recognised. */
import type { Bundle, ReadEnvelope, Scope } from "@event-anchoring/bundle";
import type { Receipt } from "@event-anchoring/protocol";
import type { Names } from "@event-anchoring/verdicts";

export type GivenKind =
  | "receipt"
  | "bundle"
  | "scope"
  | "trust_root"
  | "checkpoint"
  | "names"
  | "root_thk"
  | "file"
  | "broken";

/** One thing that was given. `name` is the file's, or says that it was pasted. */
export type Given = { readonly name: string; readonly size: number } &
  /** `statedId`: the anchor id that the API's answer states beside the receipt. A text receipt states none. */
  (
    | { readonly kind: "receipt"; readonly receipt: Receipt; readonly statedId: Uint8Array | null }
    | { readonly kind: "bundle"; readonly bundle: Bundle }
    /** It fits together. Whose grant it is of, a bundle says. */
    | { readonly kind: "scope"; readonly scope: Scope }
    /** Whole signed notes, attacker-controlled: nothing is verified yet. */
    | { readonly kind: "trust_root"; readonly documents: readonly string[] }
    | { readonly kind: "checkpoint"; readonly note: string }
    | { readonly kind: "names"; readonly names: Names }
    /** A RootTHK in a file. It came with the other files, so it is not taken for a pin. */
    | { readonly kind: "root_thk"; readonly hex: string }
    /** Anything else: the event itself. `said`: as an envelope, if it says that it is one. */
    | { readonly kind: "file"; readonly hash: Uint8Array; readonly said: ReadEnvelope | null }
    /** It says that it is one of these, and cannot be read as that. */
    | { readonly kind: "broken"; readonly meant: MeantKind; readonly code: string; readonly detail: string }
  );

/** What a thing may say that it is. */
export type MeantKind = "receipt" | "bundle" | "scope" | "trust_root" | "checkpoint" | "names" | "file";

export type GivenOf<Kind extends GivenKind> = Extract<Given, { readonly kind: Kind }>;

export function givenOf<Kind extends GivenKind>(all: readonly Given[], kind: Kind): GivenOf<Kind>[] {
  return all.filter((given): given is GivenOf<Kind> => given.kind === kind);
}
