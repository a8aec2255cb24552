import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import { ATTRIBUTE_TYPES } from "@event-anchoring/sdk";

// The registered attribute types: one list in docs/names.md, and in the SDKs that have it.

const ROOT = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
type Row = readonly [name: string, value: number];

const section = read("docs/names.md").split("\n## Attribute types\n")[1]?.split("\n## ")[0] ?? "";
const documented = [...section.matchAll(/^\| `(0x[0-9a-f]{2})` \| `(\w+)` \| [^|]+ \| [^|]+ \|$/gmu)].map(
  ([, value = "", name = ""]): Row => [name, Number(value)],
);

test("the page lists the types of the TypeScript SDK, in their order", () => {
  expect(documented.length).toBeGreaterThan(5);
  expect(Object.entries(ATTRIBUTE_TYPES)).toEqual(documented);
});

test("the Python SDK has the same list", () => {
  const block = /^ATTRIBUTE_TYPES: [^{]*\{\n([^}]*)\}/mu.exec(read("packages/sdk-python/src/event_anchoring/names.py"));
  const listed = [...(block?.[1] ?? "").matchAll(/^ {8}"(\w+)": (0x[0-9a-f]{2}),$/gmu)].map(
    ([, name = "", value = ""]): Row => [name, Number(value)],
  );
  expect(listed).toEqual(documented);
});

test("values ascend, none is there twice, and none is of those that are one's own", () => {
  const values = documented.map(([, value]) => value);
  expect(values).toEqual([...new Set(values)].toSorted((a, b) => a - b));
  expect(values.every((value) => value > 0 && value < 2 ** 31)).toBe(true);
});
