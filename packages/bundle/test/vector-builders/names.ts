/** Files of names, good and bad; and what names of attribute types of one's own come to. */
import { attributeTypeOf, bytesToHex } from "@event-anchoring/protocol";
import { NamesError, parseNames } from "../../src/index.ts";
import { hashOf, sha256 } from "../../../../test/vector-builders/keys.ts";
import type { Json } from "../../../../test/vector-builders/json.ts";

const AGENT = bytesToHex(hashOf("billing agent"));
const DEPLOYER = bytesToHex(hashOf("deployer"));

const GOOD: Readonly<Record<string, string>> = {
  "no names": "# names\n",
  "no names, and no end of line": "# names",
  "all three kinds": [
    "# names",
    `${AGENT} billing-agent`,
    `${DEPLOYER}\tMarie, deploys`,
    "attribute 0xa1b2c3d4 cost centre",
    "attribute 16 organisation of record",
    "scope com.example.cost_centre the cost centre that is charged",
    "scope max_amount most of one refund, in cents",
    "",
  ].join("\n"),
  "empty lines, remarks, spaces around": `# names\r\n\r\n# of 2026\r\n \t ${AGENT}  \t billing-agent \t\r\n`,
  "digits in capitals": `# names\n${AGENT.toUpperCase()} billing-agent\nattribute 0xA1 a\n`,
  "a name of 80 characters, of four bytes each": `# names\n${AGENT} ${"\u{1f9fe}".repeat(80)}\n`,
  "names that look like other lines": `# names\n${AGENT} scope x\nscope attribute attribute 1 x\nattribute 1 # one\n`,
  "the highest type": "# names\nattribute 4294967295 last\nattribute 0 none\n",
};

const BAD: Readonly<Record<string, string>> = {
  nothing: "",
  "another first line": `names\n${AGENT} billing-agent\n`,
  "a first line that goes on": `# names of mine\n${AGENT} billing-agent\n`,
  "no name": `# names\n${AGENT}\n`,
  "no name behind a space": `# names\n${AGENT} \n`,
  "63 digits": `# names\n${AGENT.slice(1)} billing-agent\n`,
  "65 digits": `# names\n0${AGENT} billing-agent\n`,
  "a name before its hash": `# names\nbilling-agent ${AGENT}\n`,
  "no space between": `# names\n${AGENT}:billing-agent\n`,
  "a space of another kind": `# names\n${AGENT}\u00a0billing-agent\n`,
  "a type of 33 bits": "# names\nattribute 4294967296 too high\n",
  "a type below 0": "# names\nattribute -1 too low\n",
  "a type of nine hex digits": "# names\nattribute 0x100000000 too high\n",
  "a type that is no number": "# names\nattribute role the role\n",
  "a kind in capitals": "# names\nATTRIBUTE 1 x\n",
  "a statement's name in capitals": "# names\nscope Max x\n",
  "a statement's name of 65 characters": `# names\nscope ${"a".repeat(65)} x\n`,
  "another kind": "# names\ngrant 1 x\n",
  "a name of 81 characters": `# names\n${AGENT} ${"a".repeat(81)}\n`,
  "a name with a control": `# names\n${AGENT} billing\u001b[31magent\n`,
  "a name that is written from right to left": `# names\n${AGENT} billing\u202etnega\n`,
  "a name with a character of no width": `# names\n${AGENT} billing\u200bagent\n`,
  "a lone carriage return": `# names\n${AGENT} billing\ragent\n`,
  "a line separator": `# names\n${AGENT} billing\u2028agent\n`,
  "a hash twice": `# names\n${AGENT} one\n${AGENT.toUpperCase()} one\n`,
  "a type twice, in both writings": "# names\nattribute 16 a\nattribute 0x10 b\n",
  "a statement twice": "# names\nscope max_amount a\nscope max_amount b\n",
};

const OWN = ["com.example.cost_centre", "org.example.a-b.c_d", "de.beispiel.0", "com.example.deploys"];
const NO_TYPES = [
  "",
  "Role",
  "cost_centre",
  "example.cost",
  "com.example.",
  ".com.example",
  "com.Example.a",
  "com.ex ample.a",
];

function refusalOf(text: string): Json {
  try {
    parseNames(text);
  } catch (error) {
    if (error instanceof NamesError) return { code: error.code, line: error.line };
    throw error;
  }
  throw new Error("it was taken");
}

export function namesVectors(): Json {
  return {
    good: Object.entries(GOOD).map(([name, text]) => {
      const { hashes, attributeTypes, statements } = parseNames(text);
      return {
        name,
        text,
        hashes: Object.fromEntries(hashes),
        attribute_types: [...attributeTypes],
        statements: Object.fromEntries(statements),
      };
    }),
    bad: Object.entries(BAD).map(([name, text]) => ({ name, text, ...(refusalOf(text) as object) })),
    attribute_types: OWN.map((name) => ({ name, value: attributeTypeOf(name, sha256) })),
    no_attribute_types: [...NO_TYPES],
  };
}
