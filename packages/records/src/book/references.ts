/** The references of an event. docs/PROTOCOL.md, "Deciding". */
import { LEAF_KIND } from "@event-anchoring/protocol";
import type { LeafKind, OriginFingerprint, SemanticAnchor } from "@event-anchoring/protocol";

/** What is known of a referenced anchor. */
export interface AnchorFact {
  readonly kind: LeafKind;
  readonly sequence: number;
  readonly originFingerprint: OriginFingerprint;
  readonly depth: number;
}

type ReferenceField = Exclude<keyof SemanticAnchor, "eventDataHash">;

interface ReferenceRule {
  readonly field: ReferenceField;
  /** RFC 6901, from the event. */
  readonly pointer: string;
  /** The only kind it may refer to; null: any. */
  readonly kind: LeafKind | null;
}

/** The references of an event, in the order in which they are checked. */
export const REFERENCE_RULES: readonly ReferenceRule[] = [
  { field: "irisRef", pointer: "/semantic_anchor/iris_ref", kind: LEAF_KIND.claim },
  { field: "scrollRef", pointer: "/semantic_anchor/scroll_ref", kind: null },
  { field: "grantRef", pointer: "/semantic_anchor/grant_ref", kind: LEAF_KIND.grant },
  { field: "bondRef", pointer: "/semantic_anchor/bond_ref", kind: null },
  { field: "yieldRef", pointer: "/semantic_anchor/yield_ref", kind: null },
];
