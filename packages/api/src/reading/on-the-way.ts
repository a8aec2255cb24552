/** What an anchor leads to: the anchors that it refers to, and the claim and the grant that a trace follows. */
import { LEAF_KIND, bytesToHex, decodeLeaf, isZero, toAnchorId } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import type { AnchorFact } from "@event-anchoring/records";
import type { StoredAnchor } from "@event-anchoring/store";
import type { ConsistentRead } from "./consistent-read.ts";
import type { AnchorPlace } from "./load-records.ts";

/** The existing ones of these ids, by hex. */
export async function loadFacts(
  read: ConsistentRead,
  ids: readonly AnchorId[],
): Promise<ReadonlyMap<string, StoredAnchor>> {
  const facts = new Map<string, StoredAnchor>();
  if (ids.length === 0) return facts;
  const { anchors } = await read.select((reads) => reads.anchors(ids));
  for (const found of anchors) if (found !== null) facts.set(bytesToHex(found.anchorId), found);
  return facts;
}

/** The non-empty references of an event. */
export function referencesOf({ bytes }: Pick<StoredAnchor, "bytes">): AnchorId[] {
  const leaf = decodeLeaf(bytes);
  if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) return [];
  const { irisRef, scrollRef, grantRef, bondRef, yieldRef } = leaf.semanticAnchor;
  return [irisRef, scrollRef, grantRef, bondRef, yieldRef].filter((id) => !isZero(id)).map(toAnchorId);
}

/** What a trace follows: the claim and the grant that an event names, or the anchor itself. */
export function placesOnTheWay(anchor: StoredAnchor, references: ReadonlyMap<string, AnchorFact>): AnchorPlace[] {
  const leaf = decodeLeaf(anchor.bytes);
  if (leaf.kind !== LEAF_KIND.event && leaf.kind !== LEAF_KIND.signedEvent) return [anchor];
  const { irisRef, grantRef } = leaf.semanticAnchor;
  return [irisRef, grantRef].flatMap((id) => references.get(bytesToHex(id)) ?? []);
}
