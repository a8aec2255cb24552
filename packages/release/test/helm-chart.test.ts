import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CHECKOUT, checkoutVersion } from "../src/checkout.ts";
import { helmChart } from "../src/makers/helm-chart.ts";

// The chart, made twice, unpacked without the checkout, and taken by Helm.

const place = mkdtempSync(join(tmpdir(), "anchoring-helm-"));
const packed = join(place, "packed");
const file = join(packed, `event-anchoring-${checkoutVersion()}.tgz`);
const chart = join(place, "event-anchoring");
const source = join(CHECKOUT, "deploy/helm/event-anchoring");

beforeAll(() => {
  // In two places: it fails if a byte differs.
  const release = join(CHECKOUT, "packages/release/bin/release.js");
  const args = ["--dry", "--twice", "--only", "helm-chart", "--out", packed];
  execFileSync(process.execPath, [release, ...args], {
    stdio: "pipe",
    env: { ...process.env, SOURCE_DATE_EPOCH: "86400" },
  });
  execFileSync("tar", ["-C", place, "-xzf", file]);
}, 120_000);

afterAll(() => rmSync(place, { recursive: true }));

test("has every file of the chart, none of which is a link, with the time of the release", () => {
  const names = readdirSync(source, { recursive: true, encoding: "utf8", withFileTypes: false });
  const isFile = (name: string): boolean => statSync(join(source, name)).isFile();
  const lines = execFileSync("tar", ["--utc", "--full-time", "-tvzf", file], { encoding: "utf8" }).trim().split("\n");
  const expected = [...names.filter(isFile), "LICENSE", "NOTICE"].map((name) => `event-anchoring/${name}`);
  expect(lines.map((line) => line.split(/\s+/u).at(-1))).toEqual(expected.toSorted());
  expect(lines.filter((line) => !/^-rw-r--r-- 0\/0 .* 1970-01-02 00:00:00 /u.test(line))).toEqual([]);
  for (const name of names.filter(isFile)) {
    expect([name, readFileSync(join(chart, name), "utf8") === readFileSync(join(source, name), "utf8")]).toEqual([
      name,
      true,
    ]);
  }
});

test("is in the sums and in the list of contents", () => {
  for (const name of ["SHA256SUMS", "SBOM.spdx.json"]) {
    expect(readFileSync(join(packed, name), "utf8")).toContain(`event-anchoring-${checkoutVersion()}.tgz`);
  }
});

test("is refused with another version than it has inside", async () => {
  const folder = join(place, "other");
  mkdirSync(folder);
  const target = { folder, version: "9.9.9", sourceDateEpoch: 0, hasParts: () => undefined };
  await expect(helmChart.make(target)).rejects.toThrow("Chart.yaml has another version and appVersion than 9.9.9");
});

const HELM = process.env["HELM"] ?? "helm";
const isHelmThere = spawnSync(HELM, ["version"]).status === 0;

(isHelmThere ? describe : describe.skip)(`Helm${isHelmThere ? "" : " (skipped: it is not here)"}`, () => {
  test("takes the file as it is, and renders what the checkout renders", () => {
    const rendered = (from: string): string =>
      execFileSync(HELM, ["template", "anchoring", from, "--kube-version", "1.29.0"], {
        encoding: "utf8",
        stdio: "pipe",
      });
    expect(rendered(file)).toBe(rendered(source));
    const { status, stdout, stderr } = spawnSync(HELM, ["lint", "--strict", file], { encoding: "utf8" });
    expect([status, stderr]).toEqual([0, ""]);
    expect(stdout).toContain("1 chart(s) linted, 0 chart(s) failed");
  });
});
