import { describe, expect, test } from "@jest/globals";
import { WitnessedLogsError, parseWitnessedLogs } from "@event-anchoring/control-contract";
import { createSigner, nodeCrypto } from "@event-anchoring/node-crypto";
import { VKEY_TYPE, formatVkey, makeVkey } from "@event-anchoring/protocol";

function vkeyOf(name: string, seed: number): string {
  const { publicKey } = createSigner(new Uint8Array(32).fill(seed));
  return formatVkey(makeVkey(name, VKEY_TYPE.ed25519, publicKey, nodeCrypto.sha256));
}

const ONE = vkeyOf("log.example/one", 1);
const NEXT = vkeyOf("log.example/one", 2);
const KEY = vkeyOf("key.example", 3);

const read = (text: string) => [...parseWitnessedLogs(text, nodeCrypto.sha256).values()];

describe("the list of witnessed logs", () => {
  test("has an entry for each key; keys of one origin are one log", () => {
    const text = `# ours\nlogs/v0\n\nvkey ${ONE}\nqpd 1440.5\ncontact ops@log.example\n
      vkey ${KEY}\norigin a log with another name than its key\nvkey ${NEXT}\n`;
    expect(
      read(text).map(({ origin, vkeys, headsPerDay }) => ({ origin, vkeys: vkeys.map(formatVkey), headsPerDay })),
    ).toEqual([
      { origin: "log.example/one", vkeys: [ONE, NEXT], headsPerDay: 86_400 },
      { origin: "a log with another name than its key", vkeys: [KEY], headsPerDay: 86_400 },
    ]);
    expect(read(`logs/v0\nvkey ${ONE}\nqpd 24\n`)[0]?.headsPerDay).toBe(24);
    expect(read("logs/v0\n")).toEqual([]);
  });

  test.each([
    ["nothing", ""],
    ["no header", `vkey ${ONE}\n`],
    ["another header", `logs/v1\nvkey ${ONE}\n`],
    ["two headers", `logs/v0\nlogs/v0\nvkey ${ONE}\n`],
    ["a value before the first key", "logs/v0\nqpd 5\n"],
    ["a key that is none", "logs/v0\nvkey log.example/one\n"],
    ["a key without its id", `logs/v0\nvkey ${ONE.replace(/\+[0-9a-f]{8}/, "+00000000")}\n`],
    ["an unknown word", `logs/v0\nvkey ${ONE}\nurl https://log.example\n`],
    ["no value", `logs/v0\nvkey ${ONE}\norigin\n`],
    ["no queries at all", `logs/v0\nvkey ${ONE}\nqpd 0\n`],
    ["queries that are no number", `logs/v0\nvkey ${ONE}\nqpd many\n`],
    ["a negative number", `logs/v0\nvkey ${ONE}\nqpd -5\n`],
    ["too many keys of one log", `logs/v0\n${`vkey ${ONE}\n`.repeat(5)}`],
    ["too many bytes", `logs/v0\n${"#".repeat(262_144)}`],
  ])("with %s is refused", (_, text) => {
    expect(() => read(text)).toThrow(WitnessedLogsError);
  });

  test("says which line is wrong", () => {
    expect(() => read(`logs/v0\n\n# key\nvkey ${ONE}\nqpd x\n`)).toThrow("line 5: not a number of queries a day");
  });
});
