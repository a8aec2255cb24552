/** The proof beside a verdict: a bundle with a state head. docs/PROTOCOL.md, "Bundle with a state head". */
import { z } from "zod";
import { base64, count, hex32 } from "./wire.ts";

const signedNote = z.string();

const provedLeaf = z.strictObject({
  leaf: base64.describe("The leaf's bytes."),
  checkpoint: z.null().describe("The state head gives the root of its tree."),
  inclusion: z.array(base64).describe("From the leaf up."),
});

const statedRecord = z.strictObject({
  leaf: base64.describe("A claim or a grant."),
  value: base64.describe("Its value in the state tree, which says when it ended."),
  level: count.describe("Halves from the root of the state tree to it."),
});

const proofSchema = z
  .strictObject({
    format: z.string().describe("Name and version of the format of bundles."),
    subject: hex32.describe("The anchor that is proved."),
    as_of: z
      .strictObject({
        sequence: count.describe("Position among the leaves of all origins."),
        time_ms: count.describe("Unix milliseconds."),
      })
      .describe("The position that the verdicts are of."),
    trust_roots: z.array(signedNote).describe("Every version, oldest first."),
    checkpoints: z.array(signedNote).length(0).describe("Empty: the state head stands for them."),
    leaves: z.array(provedLeaf).describe("The leaves that the verdicts depend on, each with its proof."),
    ranges: z.array(z.string()).length(0).describe("Empty: a state head needs no runs of leaves."),
    state: z
      .strictObject({
        head: signedNote.describe("The state head, with the signatures of a quorum."),
        records: z.array(statedRecord).describe("The claims and grants that the verdicts depend on."),
        siblings: base64.describe("The hashes beside their paths."),
      })
      .describe("What a quorum has signed of the state, and the records in it."),
    stated: z.null().describe("null: nothing rests on the word of the service."),
  })
  .meta({
    id: "Proof",
    description: "A bundle that proves the verdicts of the answer offline. As a file: `*.bundle.json`.",
  });

export type ProofAnswer = z.infer<typeof proofSchema>;

export const proofMember = {
  proof: proofSchema.optional().describe("With proof=true: what proves the verdicts without trust in the service."),
};
