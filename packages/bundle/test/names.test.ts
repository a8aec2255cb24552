/** test/vectors/names.json, read as any other implementation reads it; and files that are too large. */
import { readFileSync } from "node:fs";
import { describe, expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { attributeTypeName, attributeTypeOf } from "@event-anchoring/protocol";
import { NAMES_LIMITS, NamesError, looksLikeNames, parseNames } from "../src/index.ts";

interface Case {
  readonly name: string;
  readonly text: string;
}

interface VectorFile {
  readonly good: readonly (Case & {
    readonly hashes: Readonly<Record<string, string>>;
    readonly attribute_types: readonly (readonly [number, string])[];
    readonly statements: Readonly<Record<string, string>>;
  })[];
  readonly bad: readonly (Case & { readonly code: string; readonly line: number | null })[];
  readonly attribute_types: readonly { readonly name: string; readonly value: number }[];
  readonly no_attribute_types: readonly string[];
}

const vectors = JSON.parse(
  readFileSync(new URL("../../../test/vectors/names.json", import.meta.url), "utf8"),
) as VectorFile;

function refusalOf(text: string): Pick<NamesError, "code" | "line"> {
  try {
    parseNames(text);
  } catch (error) {
    if (error instanceof NamesError) return { code: error.code, line: error.line };
    throw error;
  }
  throw new Error("it was taken");
}

describe("a file of names", () => {
  test.each(vectors.good)("says what it says: $name", ({ text, ...said }) => {
    const { hashes, attributeTypes, statements } = parseNames(text);
    expect([Object.fromEntries(hashes), [...attributeTypes], Object.fromEntries(statements)]).toEqual([
      said.hashes,
      said.attribute_types,
      said.statements,
    ]);
    expect(looksLikeNames(text)).toBe(true);
  });

  test.each(vectors.bad)("is refused: $name", ({ text, code, line }) => {
    expect(refusalOf(text)).toEqual({ code, line });
  });

  test("is refused if it is too large, in bytes or in names", () => {
    const { bytesMax, namesMax } = NAMES_LIMITS;
    const remark = `# ${"\u00e9".repeat((bytesMax - 12) / 2)}\n`;
    expect(parseNames(`# names\n${remark}`).hashes.size).toBe(0);
    expect(refusalOf(`# names\n${remark}xx`).code).toBe("names_too_large");
    const lines = Array.from({ length: namesMax }, (_, at) => `attribute ${at} a\n`).join("");
    expect(parseNames(`# names\n${lines}`).attributeTypes.size).toBe(namesMax);
    expect(refusalOf(`# names\n${lines}scope a a\n`)).toEqual({ code: "names_too_large", line: namesMax + 2 });
  });
});

describe("attribute types", () => {
  test.each(vectors.attribute_types)("of one's own: $name", ({ name, value }) => {
    expect(attributeTypeOf(name, nodeCrypto.sha256)).toBe(value);
    expect(value).toBeGreaterThanOrEqual(2 ** 31);
    expect(attributeTypeName(value)).toBeNull();
  });

  test.each(vectors.no_attribute_types)("are not called %j", (name) => {
    expect(attributeTypeOf(name, nodeCrypto.sha256)).toBeNull();
  });

  test("are not called as what every object has", () => {
    expect(attributeTypeOf("toString", nodeCrypto.sha256)).toBeNull();
  });
});
