import { readFile } from "node:fs/promises";
import { inspect } from "node:util";
import { afterEach, beforeEach, expect, test } from "@jest/globals";
import { type TlsMaterial, loadTlsMaterial } from "../../src/transport/tls-material.ts";
import { TestCluster } from "./harness.ts";

let cluster: TestCluster;

beforeEach(async () => {
  cluster = await TestCluster.create();
});
afterEach(() => cluster.close());

test("what is loaded does not print its key", async () => {
  const files = await cluster.writeTls("a", await cluster.issue("node", "a"));
  const self = { nodeId: "a", clusterId: cluster.clusterId };
  const material = await loadTlsMaterial(files, self, [cluster.authority.spkiSha256], Date.now());
  const keyLines = (await readFile(files.keyFile, "utf8")).split("\n").filter((line) => /^[\w+/=]{20,}$/.test(line));
  expect(keyLines.length).toBeGreaterThan(1);
  const shown = (value: TlsMaterial | TlsMaterial["options"]): readonly string[] => {
    const printed = `${inspect(value, { depth: null })} ${JSON.stringify(value)}`;
    return keyLines.filter((line) => printed.includes(line));
  };
  expect(shown(material)).toEqual([]);
  // It would be seen.
  expect(shown(material.options)).toEqual(keyLines);
});
