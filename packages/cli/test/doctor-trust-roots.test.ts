import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { examine } from "../src/doctor/examine.ts";
import type { MistakeCode } from "../src/doctor/mistakes.ts";
import { thisHost } from "../src/doctor/this-host.ts";
import { NOW_MS, goodHost, makeNodeOnDisk } from "./fake-host.ts";
import type { FakeHost, NodeOnDisk } from "./fake-host.ts";
import { runAnchorctl } from "./run-anchorctl.ts";

// The identity folder of n1 has version 1, by which n3 is a member; by version 2 n3 has left.

const TRUST_ROOT_URL = "https://n1.api:8080/v1/trust-root";
const HOUR_MS = 3_600_000;

let node: NodeOnDisk;
let first: string;
let second: string;

beforeAll(async () => {
  node = await makeNodeOnDisk();
  const { outDir } = node.cluster;
  first = readFileSync(join(outDir, "trust-root.txt"), "utf8");
  const next = join(node.paths.root, "next");
  const change = ["--retire", "n3", "--out", next, "--json"];
  const proposed = await runAnchorctl(outDir, ["root", "propose", "--cluster", outDir, ...change]);
  const { root_thk: rootThk } = JSON.parse(proposed.stdout) as { root_thk: string };
  const key = join(outDir, "root-keys", "root-1.seed");
  await runAnchorctl(outDir, ["root", "sign", next, "--cluster", outDir, "--key", key, "--expect", rootThk]);
  second = readFileSync(next, "utf8");
});

afterAll(() => node.remove());

async function codesOf(host: FakeHost): Promise<readonly MistakeCode[]> {
  const { controlPlaneFile, apiFile, databaseDir, backupDir } = node.paths;
  const folders = { database: databaseDir, backups: backupDir };
  const checks = await examine(host, { controlPlaneFile, apiFile, folders, backupAgeMsMax: 24 * HOUR_MS, others: [] });
  return checks.flatMap(({ findings }) => findings.map(({ code }) => code));
}

function answering(documents: readonly string[]): FakeHost {
  const host = goodHost(node);
  const body = JSON.stringify({ chain: documents.map((document) => ({ document })) });
  host.answers.set(TRUST_ROOT_URL, { status: 200, body, dateMs: NOW_MS });
  return host;
}

test("a version that the cluster has added is taken from the api process", async () => {
  expect(await codesOf(answering([first]))).toEqual([]);
  expect(await codesOf(answering([first, second]))).toEqual(["peer_unlisted"]);
});

test("what does not follow from the pinned version is not believed", async () => {
  expect(await codesOf(answering([first, second.replace("retired", "distrusted")]))).toEqual([]);
  expect(await codesOf(answering([second]))).toEqual([]);
  const host = goodHost(node);
  host.answers.set(TRUST_ROOT_URL, { status: 200, body: "<html>", dateMs: NOW_MS });
  expect(await codesOf(host)).toEqual([]);
});

test("a chain of many versions is read whole, and what has no end is not", async () => {
  const sizes = [1024 * 1024, 17 * 1024 * 1024];
  const server = createServer((_request, response) => response.end("x".repeat(sizes.shift() ?? 0)));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  const host = thisHost({});
  expect((await host.get(url))?.body).toHaveLength(1024 * 1024);
  expect(await host.get(url)).toBeNull();
  await new Promise((resolve) => server.close(resolve));
});
