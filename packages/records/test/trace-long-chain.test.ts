import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { traceEvent } from "../src/index.ts";
import type { LeafWrite } from "@event-anchoring/ledger";
import { hash } from "../../../test/worlds/cluster.ts";
import { History } from "./history.ts";
import { event } from "../../../test/worlds/ledger-harness.ts";
import { acting } from "../../../test/worlds/signed-records.ts";
import type { Party } from "../../../test/worlds/signed-records.ts";
import { crypto, traced } from "./traced-world.ts";

describe("a chain of 10,000 grants", () => {
  const LINKS = 10_000;

  /** Every party has a claim; signatures of what is not shown are left out. */
  function chained(): { history: History; act: LeafWrite; leafGrant: LeafWrite; root: Party } {
    const history = new History();
    const unsigned = { subjectSignature: new Uint8Array(64), issuerSignature: new Uint8Array(64) };
    const ungranted = { grantorSignature: new Uint8Array(64), witnessSignature: new Uint8Array(64) };
    const root = history.claim("party", { entityFingerprint: hash("entity 0") }, unsigned);
    let grantor = root;
    let parent: LeafWrite | undefined;
    for (let link = 1; link <= LINKS; link++) {
      const isShown = link >= LINKS - 1_000;
      const options = { entityFingerprint: hash(`entity ${link}`) };
      const grantee = history.claim("party", options, isShown ? {} : unsigned);
      const delegation = { delegationDepth: LINKS - link, ...(parent === undefined ? {} : { parent }) };
      parent = history.grant(grantor, grantee, delegation, isShown ? {} : ungranted);
      grantor = grantee;
    }
    if (parent === undefined) throw new Error("no chain");
    const act = history.event(event("act", { semanticAnchor: acting(grantor.claim, parent) }));
    return { history, act, leafGrant: parent, root };
  }

  const { history, act, root } = chained();

  test("is judged whole, shown as far as a trace shows it, within a second of CPU time beside its signatures", () => {
    const input = history.traceInput(act);
    const verified = { count: 0 };
    const counting = {
      sha256: nodeCrypto.sha256,
      ed25519Verify: (...args: Parameters<typeof nodeCrypto.ed25519Verify>) => {
        verified.count += 1;
        return crypto.ed25519Verify(...args);
      },
    };
    const trace = traceEvent(input, counting);
    expect(trace).toMatchObject({ authorisedAtAction: true, authorisedNow: true, violations: [] });
    expect([trace.delegation.hops.length, trace.delegation.omitted]).toEqual([1_000, 9_000]);
    expect(trace.boundary?.depth).toEqual({ granted: LINKS - 1, used: LINKS - 1, left: 0 });
    // Two of each hop shown, two of each claim that these name.
    expect(verified.count).toBe(2 * 1_000 + 2 * 1_001);
    // What they cost is the machine's; all the rest is ours.
    const before = process.cpuUsage();
    traceEvent(input, crypto);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1000).toBeLessThan(1_000);
  });

  test("falls with its root", () => {
    const revocation = history.revoke(root.claim);
    const trace = traced(history, act);
    expect([trace.authorisedAtAction, trace.authorisedNow]).toEqual([true, false]);
    expect(trace.reasons).toMatchObject([{ code: "grantor_claim_revoked", sequence: revocation.sequence }]);
    expect(trace.delegation.hops.every(({ grant }) => grant.state === "revoked")).toBe(true);
    const late = traced(history, act, { asOf: { sequence: act.sequence, timeMs: history.clockMs } });
    expect(late.authorisedNow).toBe(true);
  });
});
