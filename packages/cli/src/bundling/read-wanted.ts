/** What a bundle has to hold, from the service's trace: the pure half is the ledger's. */
import { wantedOfTrace } from "@event-anchoring/bundle";
import type { TracedAnchor, WantedOfTrace } from "@event-anchoring/bundle";
import { readers } from "@event-anchoring/sdk";
import type { Reader } from "@event-anchoring/sdk";

const { count, flag, hex32, listOf, listOrNone, nullable, record, text } = readers;

const readPlace = record({ anchorId: hex32, kind: text, sequence: count });
const readClaim = record({ entityFingerprint: hex32, attributeType: count });
const readRevocation = record({ targetAnchorId: hex32 });

/** By its wire names, as the ledger takes it. */
const tracedAnchor: Reader<TracedAnchor> = (value, path) => {
  const { anchorId, kind, sequence } = readPlace(value, path);
  const place = { anchor_id: anchorId, kind, sequence };
  if (kind === "claim") {
    const { entityFingerprint, attributeType } = readClaim(value, path);
    return { ...place, entity_fingerprint: entityFingerprint, attribute_type: attributeType };
  }
  if (kind === "revocation") return { ...place, target_anchor_id: readRevocation(value, path).targetAnchorId };
  return place;
};

const readTrace = record({
  anchor: tracedAnchor,
  actor: record({ claim: nullable(tracedAnchor) }),
  delegation: listOf(record({ grant: tracedAnchor, grantorClaim: tracedAnchor, granteeClaim: tracedAnchor })),
  revocations: listOf(record({ anchor: tracedAnchor })),
  references: listOf(record({ field: text, anchorId: hex32, exists: flag })),
  lineageClaims: listOrNone(tracedAnchor),
});

/** @throws UnexpectedAnswer */
export const readWanted: Reader<WantedOfTrace> = (value, path) => {
  const { delegation, references, lineageClaims, ...trace } = readTrace(value, path);
  const wanted = wantedOfTrace({
    ...trace,
    delegation: delegation.map(({ grant, grantorClaim, granteeClaim }) => {
      return { grant, grantor_claim: grantorClaim, grantee_claim: granteeClaim };
    }),
    references: references.map(({ field, anchorId, exists }) => ({ field, anchor_id: anchorId, exists })),
  });
  // The newest claims of lineages that went on: the service has judged by them, and a verifier will too.
  const anchorIds = [...new Set([...wanted.anchorIds, ...lineageClaims.map(({ anchor_id: id }) => id)])];
  return { ...wanted, anchorIds };
};
