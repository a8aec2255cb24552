import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { CHECKOUT } from "../src/checkout.ts";

// What a user installs: made, installed where there is nothing else, and used by programs like the user's.

const PROGRAMS = join(CHECKOUT, "packages/release/test/programs");
const vectors = (name: string): string => join(CHECKOUT, "test/vectors", `${name}.json`);

/** A Node 18, which this repository does not need otherwise: EVENT_ANCHORING_NODE18 names one. */
function findNode18(): string | null {
  for (const candidate of [process.env["EVENT_ANCHORING_NODE18"], "node18"]) {
    if (candidate === undefined) continue;
    const { error, stdout } = spawnSync(candidate, ["--version"], { encoding: "utf8" });
    if (error === undefined && stdout.startsWith("v18.")) return candidate;
  }
  return null;
}

const node18 = findNode18();
if (node18 === null) {
  process.stderr.write("packages/release/test/npm-sdk.test.ts leaves out Node 18: EVENT_ANCHORING_NODE18=<node>\n");
}

const USE = `import { Client, verifyBundle, verifyReceipt } from "@event-anchoring/sdk";
import type { Anchor, BundleOutcome, ReceiptCheck } from "@event-anchoring/sdk";
export async function use(client: Client, check: ReceiptCheck): Promise<string> {
  const { anchor, receipt } = await client.createEventAnchor("00".repeat(32), { clientEventId: "a" });
  const any: Anchor = anchor;
  const outcome: BundleOutcome = verifyBundle("{}", { trustRoot: check.trustRoot }).outcome;
  // @ts-expect-error: bytes or hex, nothing else
  await client.getAnchor(7);
  return any.kind + outcome + verifyReceipt(receipt, check).anchorId;
}
`;

/** In what runs on Node. */
const RECORD = `import type { AnchoringError } from "@event-anchoring/sdk";
import { Recorder, SpoolFull } from "@event-anchoring/sdk/recorder";
import type { KeptEvent } from "@event-anchoring/sdk/recorder";
export async function record(client: Client): Promise<KeptEvent> {
  const recorder = await Recorder.open({ client, directory: "audit" });
  const error: AnchoringError = new SpoolFull(1);
  return recorder.record({ error: error.code }, { what: "refund" }).anchored;
}
`;

describe("the npm package of the SDK", () => {
  const project = mkdtempSync(join(tmpdir(), "anchoring-sdk-package-"));
  const installed = join(project, "node_modules", "@event-anchoring", "sdk");
  let files: readonly string[] = [];

  beforeAll(() => {
    const packed = join(project, "packed");
    const release = join(CHECKOUT, "packages/release/bin/release.js");
    execFileSync(process.execPath, [release, "--dry", "--only", "npm-sdk", "--out", packed], { stdio: "pipe" });
    const tarball = readdirSync(packed).find((name) => name.endsWith(".tgz")) ?? "";
    mkdirSync(installed, { recursive: true });
    execFileSync("tar", ["xzf", join(packed, tarball), "-C", installed, "--strip-components=1"]);
    files = readdirSync(installed, { recursive: true }).map(String);
  }, 300_000);

  afterAll(() => rmSync(project, { recursive: true }));

  const read = (file: string): string => readFileSync(join(installed, file), "utf8");
  const node = (program: string, args: readonly string[], runtime = process.execPath): string =>
    execFileSync(runtime, [join(PROGRAMS, program), project, ...args], {
      cwd: project,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "inherit"],
    });

  test("has no dependencies, and says what it needs", () => {
    const manifest = JSON.parse(read("package.json")) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name: "@event-anchoring/sdk", version: "0.2.0", engines: { node: ">=18" } });
    expect(Object.keys(manifest).filter((name) => /dependencies|private|scripts/i.test(name))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["README.md", "LICENSE", "NOTICE", "THIRD-PARTY-LICENSES.txt"]));
    expect(read("THIRD-PARTY-LICENSES.txt").match(/^@noble\/\S+ \S+ \(MIT\)$/gm)).toHaveLength(2);
  });

  test("imports Node's modules for Node, and nothing for browsers", () => {
    const imports = (file: string): string[] =>
      [...read(file).matchAll(/(?:^import\b[^"]* from |\brequire\(|\bimport\()"([^"]+)"/gm)].map(
        ([, specifier]) => specifier ?? "",
      );
    const ofNode = ["node:crypto", "node:fs/promises", "node:path", "node:util"];
    expect(imports("dist/index.js").sort()).toEqual(ofNode);
    expect(imports("dist/index.cjs").sort()).toEqual(ofNode);
    expect(imports("dist/browser.js")).toEqual([]);
    expect(read("dist/index.js")).not.toContain("noble");
    for (const types of ["index.d.ts", "index.d.cts", "browser.d.ts"]) {
      expect(read(`dist/${types}`)).not.toMatch(/^import |"node:|NodeJS|\bBuffer\b/m);
    }
  });

  test("has the recorder apart, which imports the main entry, and is not there for browsers", () => {
    for (const [code, types, main] of [
      ["recorder.js", "recorder.d.ts", "./index.js"],
      ["recorder.cjs", "recorder.d.cts", "./index.cjs"],
    ] as const) {
      const imported = [...read(`dist/${code}`).matchAll(/(?:^import\b[^"]* from |\brequire\()"([^"]+)"/gm)];
      const others = imported.map(([, specifier]) => specifier).filter((each) => each?.startsWith("node:") !== true);
      expect(others).toEqual([main]);
      expect([...read(`dist/${types}`).matchAll(/ from (".*");$/gm)].map(([, from]) => from)).toEqual(
        expect.arrayContaining([`"${main}"`]),
      );
      expect(read(`dist/${types}`)).not.toMatch(/"node:|NodeJS|\bBuffer\b/);
    }
    for (const file of ["index.js", "index.cjs", "browser.js"]) expect(read(`dist/${file}`)).not.toContain("spool");
    const { exports } = JSON.parse(read("package.json")) as { exports: Record<string, Record<string, unknown>> };
    expect(exports["./recorder"]).toMatchObject({ browser: { import: null }, workerd: { import: null } });
  });

  test("its source maps hold the sources, by their place in the repository", () => {
    const map = JSON.parse(read("dist/index.js.map")) as { sources: string[]; sourcesContent: (string | null)[] };
    expect(map.sources).toContain("packages/sdk-typescript/src/client.ts");
    const other = map.sources.filter((source) => !/^packages\/[a-z-]+\/src\/\S+\.ts$/.test(source));
    expect(other).toEqual([]);
    expect(map.sourcesContent.filter((content) => content === null)).toEqual([]);
    expect(read("dist/index.js").trimEnd()).toMatch(/\n\/\/# sourceMappingURL=index\.js\.map$/);
  });

  describe("works", () => {
    const answer = join(project, "answer.json");
    beforeAll(() => {
      const openapi = JSON.parse(readFileSync(join(CHECKOUT, "docs/openapi.json"), "utf8")) as {
        paths: Record<string, { post: { responses: Record<string, { content: Record<string, Media> }> } }>;
      };
      const media = openapi.paths["/v1/event-anchors"]?.post.responses["201"]?.content["application/json"];
      writeFileSync(answer, JSON.stringify(Object.values(media?.examples ?? {})[0]?.value));
    });

    test.each(["import", "require"])("by %s on this Node, and on Node 18 where there is one", (way) => {
      const args = [way, vectors("receipt"), vectors("prepare"), answer];
      expect(node("sdk-smoke.js", args)).toMatch(/^works by \w+ on Node \d+/);
      const there = node18 === null ? null : node("sdk-smoke.js", args, node18);
      expect(there === null || there.startsWith(`works by ${way} on Node 18.`)).toBe(true);
    });

    test("in a browser's program, minified, with errors that have their names", () => {
      const said = JSON.parse(node("web-program.js", [vectors("receipt")])) as Record<string, unknown>;
      expect(said).toMatchObject({
        sequence: expect.any(Number),
        refusal: ["VerificationError", true, true],
        key: [64, 64],
        request: ["GET", "/healthz", true],
        failure: "NotFound",
      });
    });
  });

  test.each([
    ["Node's modules", "program.ts", "nodenext", []],
    ["CommonJS", "program.cts", "nodenext", []],
    ["a bundler for Node", "program.ts", "bundler", []],
    ["a bundler for browsers", "program.ts", "bundler", ["browser"]],
  ])("its types hold in a strict program without Node's types, by %s", (_, file, moduleResolution, conditions) => {
    writeFileSync(join(project, file), conditions.length === 0 ? USE + RECORD : USE);
    const module = moduleResolution === "bundler" ? "esnext" : "nodenext";
    const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, types: [], noEmit: true };
    const compilerOptions = { ...strict, module, moduleResolution, target: "es2022", customConditions: conditions };
    writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [file] }));
    writeFileSync(join(project, "package.json"), JSON.stringify({ type: "module" }));
    const compiler = join(CHECKOUT, "node_modules", "typescript", "bin", "tsc");
    const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", project], { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  });

  test("its README shows the example that runs in the tests", () => {
    const example = read("examples/first-anchor.js").split("\n").slice(1).join("\n");
    expect(read("README.md")).toContain(`\`\`\`js\n${example}\`\`\``);
    expect(example.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
  });
});

interface Media {
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>;
}
