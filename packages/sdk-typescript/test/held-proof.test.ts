/** A proof beside a verdict: it has to prove what the answer says, and nothing is taken from it otherwise. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { InvalidInput, inspectBundle, verifyTrustRoot } from "../src/index.ts";
import type { Trace, VerifiedClaim } from "../src/index.ts";
import { holdProof } from "../src/held-proof.ts";
import { FakeTransport, clientOf } from "./fake-transport.ts";

interface Good {
  readonly name: string;
  readonly outcome: string;
  readonly pinned_root_thk: string;
  readonly bundle?: { readonly trust_roots: readonly string[]; readonly subject: string };
}

const { good } = JSON.parse(
  readFileSync(new URL("../../../test/vectors/bundle-state.json", import.meta.url), "utf8"),
) as { readonly good: readonly Good[] };

/** The answer that goes with a bundle, and what it is judged by. */
function answerOf({ bundle, pinned_root_thk: pinnedRootThk }: Good) {
  if (bundle === undefined) throw new Error("a bundle of its own");
  const proof = Buffer.from(JSON.stringify(bundle));
  const { asOf, standing, trace, ...verdicts } = inspectBundle(proof, { pinnedRootThk });
  const position = { ...asOf, time: "" };
  const { actorProven, authorisedAtAction, authorisedNow } = verdicts;
  const said =
    standing === null
      ? { actorProven, authorisedAtAction, authorisedNow, suspect: trace?.isSuspect ?? false }
      : { state: standing.state };
  const answer = { ...said, asOf: position, proof } as unknown as Trace & VerifiedClaim;
  const trustRoot = verifyTrustRoot({ documents: bundle.trust_roots, pinnedRootThk });
  return { answer, trustRoot, anchorId: bundle.subject };
}

const VALID = good.filter(({ outcome, bundle }) => outcome === "valid" && bundle !== undefined);

describe("the proof of an answer", () => {
  test.each(VALID.map((each) => [each.name, each] as const))("%s: proves what the answer says", (_, each) => {
    const { answer, trustRoot, anchorId } = answerOf(each);
    expect(() => holdProof(answer, { anchorId }, trustRoot)).not.toThrow();
  });

  test("that proves something else is refused, whatever differs", () => {
    const differing = (answer: object): object[] => [
      ...("state" in answer ? [{ state: answer.state === "active" ? "revoked" : "active" }] : []),
      ...("suspect" in answer ? [{ suspect: answer.suspect !== true }] : []),
      ...("authorisedNow" in answer ? [{ authorisedNow: answer.authorisedNow !== true }] : []),
      { asOf: { sequence: 0, timeMs: 1, time: "" } },
    ];
    for (const each of VALID) {
      const { answer, trustRoot, anchorId } = answerOf(each);
      for (const change of differing(answer)) {
        const altered = { ...answer, ...change } as typeof answer;
        expect(() => holdProof(altered, { anchorId }, trustRoot)).toThrow(
          expect.objectContaining({ code: "verdict_differs" }),
        );
      }
    }
  });

  test("of another anchor, that is damaged or missing proves nothing", () => {
    const [first] = VALID;
    if (first === undefined) throw new Error("no vectors");
    const { answer, trustRoot, anchorId } = answerOf(first);
    const hold =
      (change: object, id = anchorId) =>
      () =>
        holdProof({ ...answer, ...change }, { anchorId: id }, trustRoot);
    expect(hold({}, "1b".repeat(32))).toThrow(expect.objectContaining({ code: "bundle_invalid", step: "subject" }));
    expect(hold({ proof: Buffer.from("{}") })).toThrow(expect.objectContaining({ code: "bundle_format_unknown" }));
    expect(hold({ proof: null })).toThrow("no proof");
  });

  test("takes a trust root: without one nothing is asked of the service", async () => {
    const transport = new FakeTransport({ status: 200, json: {} });
    const { client } = clientOf(transport);
    const id = "1b".repeat(32);
    for (const asked of [
      client.trace(id, { proof: true }),
      client.verifyEventAnchor(id, { proof: true }),
      client.verifyClaimAnchor(id, { proof: true }),
      client.verifyGrantAnchor(id, { proof: true }),
    ]) {
      await expect(asked).rejects.toBeInstanceOf(InvalidInput);
    }
    expect(transport.requests).toHaveLength(0);
  });
});
