import { describe, expect, test } from "@jest/globals";
import { REJECTION_CODES } from "@event-anchoring/ledger";
import { LEAF_KIND } from "@event-anchoring/protocol";
import type { QuietMachine } from "@event-anchoring/simulator";
import { createMetrics } from "../src/metrics/metrics.ts";
import { decided, readyCluster } from "./cluster-steps.ts";
import { CREDENTIAL, eventCommand } from "./commands.ts";
import { claimOf, forged, recordClaim } from "./signed-records.ts";

/** The metrics of a node, as a scrape shows them: name with labels, and value. */
async function scraped(machine: QuietMachine): Promise<ReadonlyMap<string, number>> {
  const registry = createMetrics(machine.running());
  // Counted from the node each time: a second scrape adds nothing to the first.
  await registry.metrics();
  const lines = (await registry.metrics()).split("\n").filter((line) => line.startsWith("anchoring_"));
  return new Map(
    lines.map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ")))]),
  );
}

describe("a scrape", () => {
  test("says what was decided, refused, repeated and verified", async () => {
    const cluster = await readyCluster();
    const [a, b] = cluster.nodes as [QuietMachine, QuietMachine];
    const origin = a.identity.originFingerprint;
    const good = claimOf(origin, "deployer");
    await decided(cluster, a, eventCommand(origin, 1));
    await decided(cluster, a, recordClaim(CREDENTIAL, good));
    await decided(cluster, b, recordClaim(CREDENTIAL, good));
    await decided(cluster, b, recordClaim(CREDENTIAL, { ...good, issuerSignature: forged(good.issuerSignature) }));
    const metrics = await scraped(a);
    expect(metrics.get('anchoring_records_decided_total{kind="genesis"}')).toBe(3);
    expect(metrics.get('anchoring_records_decided_total{kind="event"}')).toBe(1);
    expect(metrics.get('anchoring_records_decided_total{kind="claim"}')).toBe(1);
    expect(metrics.get("anchoring_records_replayed_total")).toBe(1);
    expect(metrics.get('anchoring_rejections_total{code="signature_invalid"}')).toBe(1);
    // Those of the parties, and the operator's under the act that made the API key.
    expect(metrics.get('anchoring_signature_verifications_total{where="thread"}')).toBe(4);
    expect(metrics.get('anchoring_signature_verifications_total{where="event_loop"}')).toBeGreaterThan(0);
    expect(metrics.get('anchoring_signature_verification_seconds_total{where="thread"}')).toBe(0);
    expect(metrics.get("anchoring_signature_verdicts_remembered_total")).toBeGreaterThanOrEqual(5);
    expect(metrics.get("anchoring_signature_verifications_failed_total")).toBe(0);
    expect(metrics.get("anchoring_log_entries_owed_to_erasures")).toBe(0);
  });

  test("names the peers that are cut off, and says 0 of the others from the start on", async () => {
    const cluster = await readyCluster();
    const [a] = cluster.nodes as [QuietMachine];
    const count = async (peer: string): Promise<readonly unknown[]> => {
      const metrics = await scraped(a);
      const offences = metrics.get(`anchoring_peer_offences_total{peer="${peer}",offence="invalid_frame"}`);
      return [offences, metrics.get(`anchoring_peer_cut_off_seconds{peer="${peer}"}`)];
    };
    expect([await count("a"), await count("b")]).toEqual([
      [undefined, undefined],
      [0, 0],
    ]);
    a.live().onFrame("b", { type: "raft", message: Uint8Array.of(255) });
    expect([await count("b"), await count("c")]).toEqual([
      [1, 1],
      [0, 0],
    ]);
  });

  test("has no label that a client can make up", async () => {
    const cluster = await readyCluster();
    const metrics = await scraped(cluster.nodes[0] as QuietMachine);
    const labels = [...metrics.keys()].flatMap(
      (name) => /^anchoring_(?:records_decided|rejections)_total\{(.*)\}$/.exec(name)?.[1] ?? [],
    );
    const bounded = [
      ...Object.keys(LEAF_KIND).map((kind) => `kind="${kind}"`),
      ...REJECTION_CODES.map((code) => `code="${code}"`),
    ];
    expect(labels.length).toBeGreaterThan(0);
    for (const label of labels) expect(bounded).toContain(label);
  });
});
