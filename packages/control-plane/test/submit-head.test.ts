import { describe, expect, test } from "@jest/globals";
import type { WitnessLine } from "@event-anchoring/control-contract";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import {
  TREE_SIZE_CONTENT_TYPE,
  VKEY_TYPE,
  cosignatureLine,
  cosignatureMessage,
  formatCheckpoint,
  formatCosignatures,
  formatNote,
  makeVkey,
  parseAddCheckpoint,
  utf8ToBytes,
} from "@event-anchoring/protocol";
import { SimulatedWitness } from "@event-anchoring/simulator";
import { type HeadToSubmit, type SubmitOutcome, submitHead } from "../src/witnessing/submit-head.ts";
import { isGoodWitnessLine, noteWithLines } from "../src/witnessing/witness-lines.ts";
import type { WitnessAnswer, WitnessTransport } from "../src/witnessing/witness-transport.ts";
import { ceremonyOf, identityOf } from "./ceremony.ts";

const identity = identityOf(ceremonyOf(["a"]), "a");
const WITNESS = new SimulatedWitness({ name: "w1", logKeyOf: () => null });
const text = formatCheckpoint({ origin: "log.example/origin", treeSize: 9, rootHash: new Uint8Array(32).fill(1) });
const asked: number[] = [];
const HEAD: HeadToSubmit = {
  treeSize: 9,
  checkpoint: formatNote(text, [{ name: "log.example/origin", keyId: 7, signature: new Uint8Array(64) }]),
  proveGrowth: async (oldSize) => {
    asked.push(oldSize);
    return [new Uint8Array(32).fill(oldSize)];
  },
};

function answer(status: number, body = "", contentType = "text/plain"): WitnessAnswer {
  return { status, contentType, body: utf8ToBytes(body) };
}

/** What comes of these answers, one after the other. */
async function outcomeOf(
  answers: readonly WitnessAnswer[],
  knownSize = 0,
  witness = WITNESS.line,
): Promise<SubmitOutcome> {
  asked.length = 0;
  const left = [...answers];
  const transport: WitnessTransport = async ({ url, body }) => {
    expect(url).toBe("https://w1.witness.example/add-checkpoint");
    const { oldSize, proof } = parseAddCheckpoint(utf8ToBytes(body));
    expect(proof).toHaveLength(oldSize > 0 && oldSize < 9 ? 1 : 0);
    const next = left.shift();
    if (next === undefined) throw new Error("connection refused");
    return next;
  };
  const { signal } = new AbortController();
  return submitHead(HEAD, witness, knownSize, {
    transport,
    isGood: (line) => isGoodWitnessLine(witness, text, line, nodeCrypto),
    signal,
  });
}

const size = (treeSize: number): WitnessAnswer => answer(409, `${treeSize}\n`, TREE_SIZE_CONTENT_TYPE);

describe("a head at a witness", () => {
  test("that knows another size is shown a proof from there", async () => {
    expect(await outcomeOf([size(4), answer(404)])).toMatchObject({ failure: "log_unknown" });
    expect(asked).toEqual([4]);
    expect(await outcomeOf([answer(404)], 3)).toMatchObject({ failure: "log_unknown" });
    expect(asked).toEqual([3]);
  });

  test("that has cosigned a larger tree is ahead", async () => {
    expect(await outcomeOf([size(12)])).toEqual({ kind: "ahead", treeSize: 12 });
  });

  test("that refuses a right proof holds another history", async () => {
    expect(await outcomeOf([size(4), answer(422)])).toMatchObject({ failure: "other_history" });
    expect(await outcomeOf([size(9), answer(422)])).toMatchObject({ failure: "other_history" });
    expect(await outcomeOf([answer(422)])).toMatchObject({ failure: "refused" });
  });

  test.each([
    [answer(403), "log_key_unknown"],
    [answer(400), "refused"],
    [answer(301), "unavailable"],
    [answer(429), "unavailable"],
    [answer(503), "unavailable"],
    [answer(200, "no line\n"), "answer_malformed"],
    [answer(200), "answer_malformed"],
    [answer(409, "4\n"), "answer_malformed"],
    [answer(409, "04\n", TREE_SIZE_CONTENT_TYPE), "answer_malformed"],
    [size(0), "answer_malformed"],
  ])("that answers %j has failed: %s", async (given, failure) => {
    expect(await outcomeOf([given])).toMatchObject({ kind: "failed", failure });
  });

  test("that cannot be reached, or whose size never settles, has failed", async () => {
    expect(await outcomeOf([])).toMatchObject({ failure: "unreachable", detail: "connection refused" });
    expect(await outcomeOf([size(4), size(5), size(6), size(7)])).toMatchObject({ failure: "unavailable" });
  });
});

describe("the line of an answer", () => {
  const signer = createSigner(new Uint8Array(32).fill(5));
  const vkey = makeVkey("witness.example/real", VKEY_TYPE.cosignature, signer.publicKey, nodeCrypto.sha256);
  const witness = { ...WITNESS.line, vkey };

  function lineOver(checkpointText: string, timeS = 1_800_000_000): WitnessLine {
    return { witness: "w1", timeS, signature: signer.sign(cosignatureMessage(timeS, checkpointText)) };
  }

  /** As the witness answers it. */
  function answered(...lines: readonly WitnessLine[]): WitnessAnswer {
    const { name, publicKey } = vkey;
    return answer(
      200,
      formatCosignatures(lines.map((line) => cosignatureLine({ ...line, name, publicKey }, nodeCrypto.sha256))),
    );
  }

  test("counts if it is over this text, by this witness, and the only one", async () => {
    const good = lineOver(text);
    expect(await outcomeOf([answered(good)], 0, witness)).toEqual({ kind: "line", line: good });
    const failed = { failure: "line_invalid" };
    expect(await outcomeOf([answered(lineOver(text.replace("\n9\n", "\n8\n")))], 0, witness)).toMatchObject(failed);
    expect(await outcomeOf([answered(good, good)], 0, witness)).toMatchObject(failed);
    expect(await outcomeOf([answered(lineOver(text, 0))], 0, witness)).toMatchObject(failed);
    expect(await outcomeOf([answered(good)])).toMatchObject(failed);
  });

  test("goes behind the note's own lines; those of unlisted witnesses are left out", () => {
    const root = { ...identity.trustRoot, witnesses: [witness] };
    const lines = [{ ...lineOver(text), witness: "gone" }, lineOver(text)];
    const note = noteWithLines(HEAD.checkpoint, lines, root, nodeCrypto.sha256);
    expect(note.startsWith(HEAD.checkpoint)).toBe(true);
    expect(note.slice(HEAD.checkpoint.length)).toMatch(/^— witness\.example\/real [A-Za-z0-9+/=]+\n$/);
  });
});
