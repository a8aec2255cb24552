import { describe, expect, test } from "@jest/globals";
import {
  ADD_CHECKPOINT_BYTES_MAX,
  AddCheckpointError,
  CONSISTENCY_LINES_MAX,
  COSIGNATURES_BYTES_MAX,
  TREE_SIZE_CONTENT_TYPE,
  bytesToBase64,
  formatAddCheckpoint,
  formatCosignatures,
  formatNote,
  formatTreeSize,
  parseAddCheckpoint,
  parseCosignatures,
  parseTreeSize,
  utf8ToBytes,
} from "@event-anchoring/protocol";

/** The example of a request in c2sp.org/tlog-witness. */
const REQUEST = [
  "old 20852014",
  "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=",
  "jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=",
  "5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=",
  "/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=",
  "",
  "example.com/behind-the-sofa",
  "20852163",
  "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=",
  "",
  "— example.com/behind-the-sofa " +
    "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE" +
    "+xeMcTOAYQ8=",
  "— example.com/behind-the-sofa " +
    "opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovn" +
    "zv++qbSzm9Q=",
  "",
].join("\n");
/** The example of an answer there. */
const COSIGNATURES = [
  "— witness.example/w1 " +
    "CMp+6LWBU0anHGH5aNDTJkH/gj79sG+T6+iP2ThYN5krrDJbR1HDnucjL39QsZTSvVjyQLrdk3DXDqI5" +
    "G2HgLatVs0pWh6Up69HVOw==",
  "— witness.example/w1 " +
    "I7rEps0pvK2UqkS2gSpVUDhrhVtQV9lgF6pRrWAvjJHjyWpW7VcE3SiOlVlbQNt64vWhO+DlkL0+Ufzu" +
    "OBMh9ChdMkP1vi/lCAsmlw==",
  "— witness.example/w2 " +
    "AWui8Sk55XjYLOijihBjhqEH6nS1ndDymE0a+6idX7pLcnoB+dhnz0854aLZgrrKbYKA7nC3HNJhm/kW" +
    "l7oJlqU3rXXvpysAdyP3wQ==",
  "",
].join("\n");
const HASH_LINE = `${bytesToBase64(new Uint8Array(32).fill(7))}\n`;
const NOTE = REQUEST.slice(REQUEST.indexOf("\n\n") + 2);

function refusalOf(read: (body: Uint8Array) => unknown, body: string | Uint8Array): string {
  try {
    read(typeof body === "string" ? utf8ToBytes(body) : body);
  } catch (error) {
    if (error instanceof AddCheckpointError) return error.code;
    throw error;
  }
  return "taken";
}

describe("the request", () => {
  test("of the standard is read and written back", () => {
    const { oldSize, proof, note, checkpoint } = parseAddCheckpoint(utf8ToBytes(REQUEST));
    expect(oldSize).toBe(20_852_014);
    expect(proof.map(bytesToBase64)).toEqual(REQUEST.split("\n").slice(1, 5));
    expect(checkpoint).toMatchObject({ origin: "example.com/behind-the-sofa", treeSize: 20_852_163 });
    expect(note.lines.map((line) => line.keyId.toString(16))).toEqual(["33de0ae", "a292ea05"]);
    expect(formatAddCheckpoint({ oldSize, proof, checkpoint: formatNote(note.text, note.lines) })).toBe(REQUEST);
  });

  test("may begin at zero without a proof, and may carry extension lines", () => {
    const extended = NOTE.replace("q2I=\n", "q2I=\none more line\n");
    const { oldSize, proof, note } = parseAddCheckpoint(utf8ToBytes(`old 0\n\n${extended}`));
    expect({ oldSize, proof }).toEqual({ oldSize: 0, proof: [] });
    expect(note.text).toContain("\none more line\n");
  });

  test("has at most 63 consistency lines and a bounded length", () => {
    const withLines = (count: number): string => `old 5\n${HASH_LINE.repeat(count)}\n${NOTE}`;
    expect(parseAddCheckpoint(utf8ToBytes(withLines(CONSISTENCY_LINES_MAX))).proof).toHaveLength(63);
    expect(refusalOf(parseAddCheckpoint, withLines(CONSISTENCY_LINES_MAX + 1))).toBe("request_malformed");
    expect(refusalOf(parseAddCheckpoint, REQUEST + " ".repeat(ADD_CHECKPOINT_BYTES_MAX))).toBe("body_too_large");
  });

  test("with sixteen signatures of a post-quantum key is not too large", () => {
    const line = `— example.com/pq ${bytesToBase64(new Uint8Array(4 + 5_000).fill(1))}\n`;
    const body = `old 5\n${HASH_LINE.repeat(CONSISTENCY_LINES_MAX)}\n${NOTE}${line.repeat(16)}`;
    expect(parseAddCheckpoint(utf8ToBytes(body)).note.lines).toHaveLength(18);
  });

  test.each([
    ["an empty body", "", "request_malformed"],
    ["no old size", REQUEST.replace("old 20852014\n", ""), "request_malformed"],
    ["another word", REQUEST.replace("old ", "size "), "request_malformed"],
    ["two spaces", REQUEST.replace("old ", "old  "), "request_malformed"],
    ["a leading zero", REQUEST.replace("old 2", "old 02"), "request_malformed"],
    ["a sign", REQUEST.replace("old 2", "old +2"), "request_malformed"],
    ["a negative size", REQUEST.replace("old 2", "old -2"), "request_malformed"],
    ["no size", REQUEST.replace("old 20852014", "old "), "request_malformed"],
    ["hex", REQUEST.replace("old 20852014", "old 0x10"), "request_malformed"],
    ["a size of 2^53", REQUEST.replace("20852014", "9007199254740992"), "request_malformed"],
    ["carriage returns", REQUEST.replaceAll("\n", "\r\n"), "request_malformed"],
    ["a hash of 31 bytes", REQUEST.replace(/Pl.*\n/, `${bytesToBase64(new Uint8Array(31))}\n`), "request_malformed"],
    ["a hash without padding", REQUEST.replace("kaw=\n", "kaw\n"), "request_malformed"],
    ["a hash with loose bits", REQUEST.replace("kaw=\n", "kax=\n"), "request_malformed"],
    ["a space behind a hash", REQUEST.replace("kaw=\n", "kaw= \n"), "request_malformed"],
    ["no empty line", REQUEST.replaceAll("\n\n", "\n"), "request_malformed"],
    ["no checkpoint", REQUEST.slice(0, REQUEST.indexOf("\n\n") + 2), "checkpoint_malformed"],
    ["no signature", REQUEST.slice(0, REQUEST.indexOf("\u2014")), "checkpoint_malformed"],
    ["no last newline", REQUEST.slice(0, -1), "checkpoint_malformed"],
    ["text behind the signatures", `${REQUEST}more\n`, "checkpoint_malformed"],
    ["a second checkpoint", REQUEST + NOTE, "checkpoint_malformed"],
    ["a checkpoint without a root", REQUEST.replace(/\nCsU.*/, ""), "checkpoint_malformed"],
    ["a tree of 2^53 leaves", REQUEST.replace("20852163", "9007199254740992"), "checkpoint_malformed"],
    ["no origin", REQUEST.replace("\nexample.com/behind-the-sofa\n", "\n\n"), "checkpoint_malformed"],
    ["a control character", REQUEST.replace("sofa\n", "sofa\t\n"), "checkpoint_malformed"],
  ])("with %s is refused", (_, body, code) => {
    expect(refusalOf(parseAddCheckpoint, body)).toBe(code);
  });

  test("that is not UTF-8 is refused", () => {
    const body = utf8ToBytes(REQUEST);
    body[body.length - 2] = 0xff;
    expect(refusalOf(parseAddCheckpoint, body)).toBe("request_malformed");
  });

  test("with any one byte altered is refused or reads as something else", () => {
    const body = utf8ToBytes(REQUEST);
    const good = JSON.stringify(parseAddCheckpoint(body));
    for (let index = 0; index < body.length; index++) {
      const altered = body.slice();
      altered[index] = (altered[index] ?? 0) ^ 1;
      const read = refusalOf((bytes) => {
        expect(JSON.stringify(parseAddCheckpoint(bytes))).not.toBe(good);
      }, altered);
      expect(["taken", "request_malformed", "checkpoint_malformed"]).toContain(read);
    }
  });

  test("is not written from parts that the standard does not allow", () => {
    const hash = new Uint8Array(32);
    const write = (oldSize: number, proof: Uint8Array[]) => () =>
      formatAddCheckpoint({ oldSize, proof, checkpoint: NOTE });
    expect(write(-1, [])).toThrow(RangeError);
    expect(write(1.5, [])).toThrow(RangeError);
    expect(write(1, [hash.subarray(1)])).toThrow(RangeError);
    expect(
      write(
        1,
        Array.from({ length: 64 }, () => hash),
      ),
    ).toThrow(RangeError);
  });
});

describe("the answers", () => {
  test("of 200 in the standard is read and written back", () => {
    const lines = parseCosignatures(utf8ToBytes(COSIGNATURES));
    expect(lines.map((line) => line.name)).toEqual(["witness.example/w1", "witness.example/w1", "witness.example/w2"]);
    expect(lines.map((line) => line.signature.length)).toEqual([72, 72, 72]);
    expect(formatCosignatures(lines)).toBe(COSIGNATURES);
    expect(() => formatCosignatures([])).toThrow(RangeError);
  });

  test.each([
    ["nothing", "", "answer_malformed"],
    ["a newline", "\n", "answer_malformed"],
    ["no last newline", COSIGNATURES.slice(0, -1), "answer_malformed"],
    ["an empty line", `${COSIGNATURES}\n`, "answer_malformed"],
    ["another text", "ok\n", "answer_malformed"],
    ["65 lines", (COSIGNATURES.split("\n")[0] + "\n").repeat(65), "answer_malformed"],
    ["too many bytes", COSIGNATURES + "a".repeat(COSIGNATURES_BYTES_MAX), "body_too_large"],
  ])("of 200 with %s is refused", (_, body, code) => {
    expect(refusalOf(parseCosignatures, body)).toBe(code);
  });

  test("of 409 has the content type of the standard", () => {
    expect(TREE_SIZE_CONTENT_TYPE).toBe("text/x.tlog.size");
  });

  test.each([0, 1, 20_852_014, Number.MAX_SAFE_INTEGER])("of 409 names size %i", (size) => {
    expect(parseTreeSize(utf8ToBytes(formatTreeSize(size)))).toBe(size);
  });

  test.each([
    ["nothing", "", "answer_malformed"],
    ["no newline", "7", "answer_malformed"],
    ["two newlines", "7\n\n", "answer_malformed"],
    ["a leading zero", "07\n", "answer_malformed"],
    ["a space", " 7\n", "answer_malformed"],
    ["2^53", "9007199254740992\n", "answer_malformed"],
    ["too many digits", "70000000000000000\n", "body_too_large"],
  ])("of 409 with %s is refused", (_, body, code) => {
    expect(refusalOf(parseTreeSize, body)).toBe(code);
  });

  test("of 409 is not written for what is no size", () => {
    expect(() => formatTreeSize(-1)).toThrow(RangeError);
    expect(() => formatTreeSize(0.5)).toThrow(RangeError);
  });
});
