/** What a bundle has to hold, from the service's trace: the pure half is the ledger's. */
import { wantedOfTrace } from "@event-anchoring/ledger";
import type { TracedAnchor, WantedOfTrace } from "@event-anchoring/ledger";
import { countAt, fieldsAt, fieldsOrNullAt, flagAt, hashAt, listAt, textAt } from "../answer-fields.ts";
import type { Fields } from "../answer-fields.ts";

/** @throws CliError `answer_malformed` */
export function readWanted(trace: Fields): WantedOfTrace {
  const claim = fieldsOrNullAt(fieldsAt(trace, "actor"), "claim");
  const wanted = wantedOfTrace({
    anchor: tracedAnchor(fieldsAt(trace, "anchor")),
    actor: { claim: claim === null ? null : tracedAnchor(claim) },
    delegation: listAt(trace, "delegation", (hop) => ({
      grant: tracedAnchor(fieldsAt(hop, "grant")),
      grantor_claim: tracedAnchor(fieldsAt(hop, "grantor_claim")),
      grantee_claim: tracedAnchor(fieldsAt(hop, "grantee_claim")),
    })),
    revocations: listAt(trace, "revocations", (item) => ({ anchor: tracedAnchor(fieldsAt(item, "anchor")) })),
    references: listAt(trace, "references", (item) => ({
      field: textAt(item, "field"),
      anchor_id: hashAt(item, "anchor_id"),
      exists: flagAt(item, "exists"),
    })),
  });
  // The newest claims of lineages that went on: the service has judged by them, and so will whoever verifies.
  const judged = trace["lineage_claims"] === undefined ? [] : listAt(trace, "lineage_claims", tracedAnchor);
  const anchorIds = [...new Set([...wanted.anchorIds, ...judged.map(({ anchor_id: id }) => id)])];
  return { ...wanted, anchorIds };
}

function tracedAnchor(anchor: Fields): TracedAnchor {
  const kind = textAt(anchor, "kind");
  return {
    anchor_id: hashAt(anchor, "anchor_id"),
    kind,
    sequence: countAt(anchor, "sequence"),
    ...(kind === "claim"
      ? { entity_fingerprint: hashAt(anchor, "entity_fingerprint"), attribute_type: countAt(anchor, "attribute_type") }
      : {}),
    ...(kind === "revocation" ? { target_anchor_id: hashAt(anchor, "target_anchor_id") } : {}),
  };
}
