import { describe, expect, test } from "@jest/globals";
import { itemOf, offeredOf, readAsFile, withReceipts } from "../src/index.ts";

/** A file of a browser, which may refuse to be read. */
function browserFile(size: number, read: () => Promise<ArrayBuffer>): Parameters<typeof offeredOf>[0] {
  return { name: "x", size, arrayBuffer: read };
}

describe("a bundle that was anchored", () => {
  const item = (name: string, text: string, id: number) => itemOf({ name, bytes: new TextEncoder().encode(text) }, id);

  test("is the event itself while its receipt is there, as to the command", () => {
    const bundle = item("x.bundle.json", "{}", 0);
    const receipt = item("x.bundle.json.tlog-proof", "nothing", 1);
    const kinds = (items: Parameters<typeof withReceipts>[0]): string[] =>
      withReceipts(items).map(({ given: { kind } }) => kind);
    expect(kinds([bundle, receipt])).toEqual(["file", "broken"]);
    expect(kinds(withReceipts([bundle, receipt]).slice(0, 1))).toEqual(["broken"]);
    expect(kinds([bundle, readAsFile(receipt, true)])).toEqual(["broken", "file"]);
  });
});

describe("what cannot be read", () => {
  test.each([
    ["too large", 512 * 1024 * 1024 + 1, "file_too_large", "sha256sum"],
    ["a folder", 4096, "file_unreadable", "if it is a folder, drop its files"],
  ])("%s: it is listed with the reason, and never becomes the event", async (_, size, code, detail) => {
    const refuse = (): Promise<ArrayBuffer> => Promise.reject(new Error("not a file"));
    const item = itemOf({ ...(await offeredOf(browserFile(size, refuse))), name: "x" }, 0);
    const broken = { kind: "broken", meant: "file", code, detail: expect.stringContaining(detail) };
    expect(item).toMatchObject({ bytes: null, isFile: false, given: broken });
    expect(readAsFile(item, true)).toEqual(item);
  });

  test("what can be read may become the event", async () => {
    const offered = await offeredOf(browserFile(4, () => Promise.resolve(new TextEncoder().encode("{}\n\n").buffer)));
    const item = itemOf({ ...offered, name: "x.bundle.json" }, 0);
    expect(item.given.kind).toBe("broken");
    expect(readAsFile(item, true).given.kind).toBe("file");
    expect(readAsFile(readAsFile(item, true), false)).toEqual(item);
  });
});
