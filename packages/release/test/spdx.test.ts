import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CHECKOUT } from "../src/checkout.ts";
import { spdxOf } from "../src/spdx.ts";

interface Spdx {
  readonly packages: readonly {
    readonly name: string;
    readonly SPDXID: string;
    readonly versionInfo?: string;
    readonly externalRefs?: readonly { readonly referenceLocator: string }[];
    readonly checksums?: readonly { readonly checksumValue: string }[];
  }[];
  readonly relationships: readonly {
    readonly spdxElementId: string;
    readonly relationshipType: string;
    readonly relatedSpdxElement: string;
  }[];
}

const out = mkdtempSync(join(tmpdir(), "anchoring-spdx-"));
const packed = join(out, "packed");
let list: Spdx;

const PYTHON = join(CHECKOUT, "packages/sdk-python/.venv/bin/python");
const hasPython = existsSync(PYTHON);
const describePython = hasPython ? describe : describe.skip;

beforeAll(() => {
  const makers = ["npm-anchorctl", "npm-raft", "verify-page", ...(hasPython ? ["python"] : [])];
  const only = makers.flatMap((name) => ["--only", name]);
  const release = join(CHECKOUT, "packages/release/bin/release.js");
  execFileSync(process.execPath, [release, "--dry", ...only, "--out", packed], { stdio: "pipe" });
  list = JSON.parse(readFileSync(join(packed, "SBOM.spdx.json"), "utf8")) as Spdx;
}, 300_000);

afterAll(() => rmSync(out, { recursive: true }));

/** What an artefact contains, as `name version`. */
function contentsOf(spdx: Spdx, artefact: string): readonly string[] {
  const byId = new Map(spdx.packages.map((each) => [each.SPDXID, each]));
  const [own] = spdx.packages.filter(({ name }) => name === artefact);
  return spdx.relationships
    .filter(({ spdxElementId, relationshipType }) => spdxElementId === own?.SPDXID && relationshipType === "CONTAINS")
    .map(({ relatedSpdxElement }) => byId.get(relatedSpdxElement))
    .map((part) => /^pkg:npm\/(.*)@(.*)$/u.exec(part?.externalRefs?.[0]?.referenceLocator ?? ""))
    .map((found) => `${decodeURIComponent(found?.[1] ?? "")} ${found?.[2]}`)
    .sort();
}

interface Locked {
  readonly version?: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly link?: boolean;
  readonly resolved?: string;
}

/** What a package of this repository needs to run, by walking the lockfile itself: `name version`. */
function lockedFor(folder: string): readonly string[] {
  const text = readFileSync(join(CHECKOUT, "package-lock.json"), "utf8");
  const { packages } = JSON.parse(text) as { readonly packages: Readonly<Record<string, Locked>> };
  const found = new Map<string, string>();
  const walk = (place: string): void => {
    for (const name of Object.keys(packages[place]?.dependencies ?? {})) {
      // As Node looks for it: here, then in each folder above.
      const levels = place.split("/").map((_, at, parts) => parts.slice(0, parts.length - at).join("/"));
      const at = [...levels, ""]
        .map((level) => (level === "" ? "" : `${level}/`) + `node_modules/${name}`)
        .find((each) => each in packages);
      const entry = at === undefined ? undefined : packages[at];
      if (at === undefined || entry === undefined) throw new Error(`${name} is not in the lockfile`);
      const target = entry.link === true ? (entry.resolved ?? "") : at;
      if (found.has(target)) continue;
      found.set(target, entry.link === true ? "" : `${name} ${entry.version}`);
      walk(target);
    }
  };
  walk(folder);
  return [...new Set(found.values())].filter((text) => text !== "").sort();
}

/** How an artefact is related to parts of others: `CONTAINS <package URL> <version or range>`. */
function relationsOf(spdx: Spdx, artefact: RegExp): readonly string[] {
  const [own] = spdx.packages.filter(({ name }) => artefact.test(name));
  return spdx.relationships
    .filter(({ spdxElementId }) => spdxElementId === own?.SPDXID)
    .map(({ relationshipType, relatedSpdxElement }) => {
      const part = spdx.packages.find(({ SPDXID }) => SPDXID === relatedSpdxElement);
      return `${relationshipType} ${part?.externalRefs?.[0]?.referenceLocator} ${part?.versionInfo}`;
    })
    .sort();
}

describe("the list of contents", () => {
  test("has the Go modules of the engine, which is in raft-ts, as its notice has them", () => {
    const notice = readFileSync(join(CHECKOUT, "packages/raft-ts/engine/NOTICE"), "utf8");
    const modules = [...notice.matchAll(/^ {2}(\S+\.\S+) (v\d\S*) /gmu)].map(
      ([, name, version]) => `CONTAINS pkg:golang/${name}@${version} ${version}`,
    );
    expect(modules.length).toBeGreaterThan(1);
    expect(relationsOf(list, /^raft-ts-/u)).toEqual(modules.sort());
  });

  test("has every dependency of the lockfile that the proof page ships", () => {
    const locked = lockedFor("packages/explorer");
    expect(locked.length).toBeGreaterThan(1);
    expect(contentsOf(list, "verify.html")).toEqual(locked);
  });

  test("has what is bundled into anchorctl, each from the lockfile", () => {
    const [single = "", tarball = ""] = list.packages
      .map(({ name }) => name)
      .filter((name) => name.startsWith("anchorctl-"));
    const contents = contentsOf(list, single);
    expect(contents).toEqual(contentsOf(list, tarball));
    const locked = lockedFor("packages/cli");
    expect(contents.filter((text) => !locked.includes(text))).toEqual([]);
    for (const name of ["commander", "pg", "undici"])
      expect(contents.join("\n")).toMatch(new RegExp(`^${name} `, "mu"));
  });

  test("names each file by its sum, and is in the sums itself", () => {
    const sums = readFileSync(join(packed, "SHA256SUMS"), "utf8");
    expect(sums).toContain("  SBOM.spdx.json\n");
    for (const { name, checksums } of list.packages.filter(({ SPDXID }) => SPDXID.startsWith("SPDXRef-artefact-"))) {
      const bytes = readFileSync(join(packed, name));
      expect([name, checksums?.[0]?.checksumValue]).toEqual([name, createHash("sha256").update(bytes).digest("hex")]);
    }
  });

  test("gives every part an id of its own, and relates only what is listed", () => {
    const ids = list.packages.map(({ SPDXID }) => SPDXID);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.filter((id) => !/^SPDXRef-[A-Za-z0-9.-]+$/u.test(id))).toEqual([]);
    const related = list.relationships.flatMap(({ spdxElementId, relatedSpdxElement }) => [
      spdxElementId,
      relatedSpdxElement,
    ]);
    expect(related.filter((id) => !ids.includes(id))).toEqual([]);
  });

  test("is the same bytes in whatever order the parts come", () => {
    const part = (name: string) =>
      ({ registry: "npm", name, version: "1.0.0", license: "MIT", relation: "CONTAINS" }) as const;
    const order = (...names: readonly string[]) =>
      spdxOf({
        version: "1.2.3",
        sourceDateEpoch: 1_700_000_000,
        digest: "0".repeat(64),
        artefacts: [{ name: "a", sha256: null, parts: names.map(part) }],
      });
    expect(order("x", "@s/y")).toBe(order("@s/y", "x", "x"));
    expect(order("x")).not.toBe(order("x", "@s/y"));
  });
});

describePython(`the list of contents has what the wheel needs${hasPython ? "" : " (skipped: takes Python)"}`, () => {
  test("with its ranges", () => {
    const project = readFileSync(join(CHECKOUT, "packages/sdk-python/pyproject.toml"), "utf8");
    const [, dependencies = ""] = /^dependencies = \[\n([^]*?)^\]/mu.exec(project) ?? [];
    const ordered = (range: string): string => range.split(",").sort().join(",");
    const wanted = [...dependencies.matchAll(/^ {2}"([\w-]+)([^";]+)/gmu)].map(
      ([, name, range = ""]) => `DEPENDS_ON pkg:pypi/${name} ${ordered(range)}`,
    );
    expect(wanted.length).toBeGreaterThan(2);
    for (const artefact of [/\.whl$/u, /^event_anchoring.*\.tar\.gz$/u]) {
      expect(relationsOf(list, artefact)).toEqual(wanted.sort());
    }
  });
});
