/** Receipts with lines of witnesses: enough, too few, and lines that do not count. */
import {
  checkpointOrigin,
  cosignatureLine,
  cosignatureMessage,
  cosignerName,
  formatCheckpoint,
  formatNote,
  noteMessage,
  noteSignatureLine,
  parseCheckpoint,
} from "@event-anchoring/protocol";
import type { Receipt, SignatureLine } from "@event-anchoring/protocol";
import { createSigner } from "@event-anchoring/node-crypto";
import type { Json } from "../../../../test/vector-builders/json.ts";
import { clusterName, cosign, fill, logLine, nodeA, nodeC, nodeD, sha256, witnessLine } from "./fixtures.ts";
import { checkpointText, flip, receiptCaseJson, receiptOf } from "./receipt-parts.ts";
import type { ReceiptCase } from "./receipt-parts.ts";

const TIME_S = 1_770_000_100;

interface WitnessedCase extends ReceiptCase {
  /** Whether the caller demands it. */
  readonly required: boolean;
  /** Whose lines count, ascending by name. */
  readonly counted: readonly string[];
}

const text = checkpointText(9);
const certified = [logLine(nodeA, text), cosign(nodeA, text), cosign(nodeD, text)];
const [north, south, west, east] = [
  witnessLine("north", 0x51, text),
  witnessLine("south", 0x52, text, TIME_S + 5),
  witnessLine("west", 0x53, text),
  witnessLine("east", 0x54, text),
];
const stranger = witnessLine("stranger", 0x77, text);

/** A certified receipt of event 5 with more lines. */
function withLines(...lines: readonly SignatureLine[]): Receipt {
  return { ...receiptOf(5, 9, []), checkpoint: formatNote(text, [...certified, ...lines]) };
}

/** The line of a key under a name that is not its own; the key id is made of both. */
function signedAs(name: string, byte: number): SignatureLine {
  const { publicKey, sign } = createSigner(fill(byte));
  return cosignatureLine({ name, publicKey, timeS: TIME_S, signature: sign(cosignatureMessage(TIME_S, text)) }, sha256);
}

/** A witness signs the text itself, as a log does: a line of type 0x01. */
function untimed(name: string, byte: number): SignatureLine {
  const { publicKey, sign } = createSigner(fill(byte));
  return noteSignatureLine({ name, publicKey, signature: sign(noteMessage(text)) }, sha256);
}

/** Demanded, under trust root 4: north, south and west, of which two are needed. */
function demanded(name: string, lines: readonly SignatureLine[], counted: readonly string[]): WitnessedCase {
  return { name, receipt: withLines(...lines), roots: 4, required: true, counted };
}

export function goodWitnessed(): WitnessedCase[] {
  const enough = demanded("as many as are needed", [north, south], ["north", "south"]);
  const ofRetired = formatNote(text, [logLine(nodeA, text), cosign(nodeA, text), cosign(nodeC, text), north, south]);
  return [
    enough,
    demanded("all of them", [north, south, west], ["north", "south", "west"]),
    {
      ...demanded("before the lines of nodes, in another order", [], ["north", "west"]),
      receipt: { ...enough.receipt, checkpoint: formatNote(text, [west, north, ...certified]) },
    },
    demanded("a stranger's line is ignored", [stranger, north, south], ["north", "south"]),
    { ...enough, name: "enough, not demanded", required: false },
    { ...demanded("one too few, not demanded", [west], ["west"]), required: false },
    { ...demanded("none, not demanded", [], []), required: false },
    { ...enough, name: "a trust root without witnesses ignores their lines", roots: 3, required: false, counted: [] },
    {
      ...enough,
      name: "a key of an earlier trust root is ignored",
      receipt: withLines(east, north, west),
      roots: 5,
      counted: ["east", "north"],
    },
    {
      ...enough,
      name: "the quorum satisfies an older trust root alone, the witnesses the newest",
      receipt: { ...enough.receipt, checkpoint: ofRetired },
      superseded: 1,
    },
  ];
}

const TOO_FEW = ["witnesses", "not_witnessed"] as const;
const REFUSED = ["log_signature", "signature_invalid"] as const;

/** Too few lines count. */
function tooFew(): WitnessedCase[] {
  const besideNorth = (name: string, ...lines: readonly SignatureLine[]): WitnessedCase => ({
    ...demanded(name, [north, ...lines], ["north"]),
    failure: TOO_FEW,
  });
  const onlyNodes = formatNote(text, [logLine(nodeA, text), cosign(nodeA, text), north, south, west]);
  return [
    { ...demanded("none", [], []), failure: TOO_FEW },
    besideNorth("one too few"),
    besideNorth("one too few, and a stranger", stranger),
    besideNorth("one too few, and a witness under the name of a node", signedAs(cosignerName(clusterName, "b"), 0x52)),
    besideNorth(
      "one too few, and a witness under the name of the log",
      signedAs(checkpointOrigin(clusterName, nodeA.originFingerprint), 0x52),
    ),
    besideNorth("one too few, and a witness under the name of another", signedAs("west.example", 0x52)),
    besideNorth("one too few, and a line without a time", untimed("south.example", 0x52)),
    { ...besideNorth("a key of an earlier trust root", west), roots: 5 },
    {
      ...besideNorth("a trust root without witnesses", south),
      roots: 3,
      counted: [],
      failure: ["witnesses", "no_witnesses"],
    },
    {
      ...demanded("witnesses in the place of a node", [], ["north", "south", "west"]),
      receipt: { ...receiptOf(5, 9, []), checkpoint: onlyNodes },
      failure: ["cosignatures", "quorum_not_met"],
    },
  ];
}

/** One line of a witness that is not good, beside enough that are, refuses the note: demanded or not. */
function refusedLines(): WitnessedCase[] {
  const beside = (name: string, ...lines: readonly SignatureLine[]): WitnessedCase => ({
    ...demanded(name, [north, south, ...lines], []),
    failure: REFUSED,
  });
  const otherRoot = formatCheckpoint({ ...parseCheckpoint(text), rootHash: fill(9) });
  const forged = { ...west, signature: flip(west.signature, 20) };
  const asNode = { ...west, name: cosign(nodeD, text).name, keyId: cosign(nodeD, text).keyId };
  const withoutD = [logLine(nodeA, text), cosign(nodeA, text), cosign(nodeC, text), north, south, asNode];
  return [
    beside("a forged line beside enough", forged),
    { ...beside("a forged line beside enough, not demanded", forged), required: false },
    beside("the time of a line changed", { ...west, signature: flip(west.signature, 7) }),
    beside("a line over another root", witnessLine("west", 0x53, otherRoot)),
    beside("a line over another size", witnessLine("west", 0x53, checkpointText(8))),
    beside("a line cut", { ...west, signature: west.signature.slice(0, -1) }),
    beside("a line of a witness in the name of another", { ...south, name: west.name, keyId: west.keyId }),
    beside("a line of a node in the name of a witness", { ...cosign(nodeC, text), name: west.name, keyId: west.keyId }),
    {
      ...beside("a line of a witness in the name of a node"),
      receipt: { ...receiptOf(5, 9, []), checkpoint: formatNote(text, withoutD) },
    },
    { ...beside("a line twice", north), failure: ["log_signature", "signature_repeated"] },
    {
      ...beside("a line twice, not demanded", north),
      required: false,
      failure: ["log_signature", "signature_repeated"],
    },
  ];
}

export function badWitnessed(): WitnessedCase[] {
  return [...tooFew(), ...refusedLines()];
}

export function witnessedCaseJson(one: WitnessedCase): Json {
  const { required, counted, roots = 1, failure } = one;
  const timeOf = (name: string): number => (name === "south" ? TIME_S + 5 : TIME_S);
  return {
    ...receiptCaseJson(one),
    require_witnessed: required,
    witnesses: counted.map((name) => ({ name, witnessed_at: timeOf(name) })),
    witnesses_needed: roots < 4 ? 0 : 2,
    witnessed: failure === undefined && counted.length >= 2,
  };
}
