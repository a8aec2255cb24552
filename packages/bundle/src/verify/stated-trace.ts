/** Compares the trace that the service stated with the one derived from the leaves. */
import { bytesToHex } from "@event-anchoring/protocol";
import type { AnchorId } from "@event-anchoring/protocol";
import type { BundleJson } from "../json/strict-json.ts";
import type { AsOf, Trace } from "@event-anchoring/records";

/** A trace of a bundle's subject as of the bundle's position. */
export interface DerivedTrace {
  readonly subject: AnchorId;
  readonly asOf: AsOf;
  readonly trace: Trace;
}

function memberOf(value: BundleJson | undefined, name: string): BundleJson | undefined {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  return new Map(Object.entries(value)).get(name);
}

/** The value at a path of members. */
function at(value: BundleJson, ...path: readonly string[]): BundleJson | undefined {
  return path.reduce<BundleJson | undefined>(memberOf, value);
}

/** The ids at a path of each item of a list; null: there is no such list. */
function idsOf(value: BundleJson, list: string, ...path: readonly string[]): (BundleJson | undefined)[] | null {
  const items = at(value, list);
  return Array.isArray(items) ? (items as readonly BundleJson[]).map((item) => at(item, ...path)) : null;
}

function isSameList(stated: readonly (BundleJson | undefined)[] | null, derived: readonly AnchorId[]): boolean {
  if (stated?.length !== derived.length) return false;
  return derived.every((id, position) => bytesToHex(id) === stated[position]);
}

/**
 * Compares the answer of GET /v1/event-anchors/{anchor_id}/trace: its subject, its position, whether its actor is
 * proven, both verdicts, the grants and the revocations on the way. The rest is not compared.
 * @returns the first member that differs, or null
 */
export function statedDifference(stated: BundleJson, { subject, asOf, trace }: DerivedTrace): string | null {
  const members: readonly (readonly [name: string, isSame: boolean])[] = [
    ["anchor.anchor_id", at(stated, "anchor", "anchor_id") === bytesToHex(subject)],
    ["as_of.sequence", at(stated, "as_of", "sequence") === asOf.sequence],
    ["as_of.time_ms", at(stated, "as_of", "time_ms") === asOf.timeMs],
    ["actor_proven", at(stated, "actor_proven") === trace.isActorProven],
    ["authorised_at_action", at(stated, "authorised_at_action") === trace.authorisedAtAction],
    ["authorised_now", at(stated, "authorised_now") === trace.authorisedNow],
    ["suspect", at(stated, "suspect") === trace.isSuspect],
    [
      "delegation",
      isSameList(
        idsOf(stated, "delegation", "grant", "anchor_id"),
        trace.delegation.hops.map(({ grant }) => grant.anchorId),
      ),
    ],
    [
      "revocations",
      isSameList(
        idsOf(stated, "revocations", "anchor", "anchor_id"),
        trace.revocations.map(({ anchorId }) => anchorId),
      ),
    ],
  ];
  return members.find(([, isSame]) => !isSame)?.[0] ?? null;
}
