import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { exampleOf } from "./openapi-examples.ts";

// What a user installs: made from the build, unpacked, and used on its own.

const SDK = join(dirname(fileURLToPath(import.meta.url)), "..");
const ROOT = join(SDK, "..", "..");
const SMOKE = join(SDK, "test", "package-smoke.js");

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
  process.stderr.write(
    "packages/sdk-typescript/test/package.test.ts leaves out Node 18: EVENT_ANCHORING_NODE18=<node>\n",
  );
}

describe("the npm package", () => {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-sdk-package-"));
  const unpacked = join(folder, "node_modules", "@event-anchoring", "sdk");
  let files: readonly string[] = [];

  beforeAll(() => {
    if (!existsSync(join(SDK, "dist", "index.js"))) throw new Error("npx tsc -b packages/sdk-typescript comes first");
    const tarball = execFileSync(process.execPath, [join(SDK, "scripts", "make-package.js"), folder], {
      encoding: "utf8",
    }).trim();
    mkdirSync(unpacked, { recursive: true });
    execFileSync("tar", ["xzf", tarball, "-C", unpacked, "--strip-components=1"]);
    files = readdirSync(unpacked, { recursive: true }).map(String);
  }, 60_000);

  afterAll(() => rmSync(folder, { recursive: true }));

  const read = (file: string): string => readFileSync(join(unpacked, file), "utf8");

  test("has no dependencies, and says what it needs", () => {
    const manifest = JSON.parse(read("package.json")) as Record<string, unknown>;
    expect(manifest).toMatchObject({ name: "@event-anchoring/sdk", version: "0.2.0", engines: { node: ">=18" } });
    expect(Object.keys(manifest).filter((name) => /dependencies|private|scripts/i.test(name))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["README.md", "LICENSE", "NOTICE"]));
  });

  test("imports nothing but itself and Node", () => {
    const code = files.filter((file) => /\.(js|d\.ts)$/.test(file));
    expect(code.length).toBeGreaterThan(50);
    const specifiers = code.flatMap((file) =>
      [...read(file).matchAll(/^(?:import|export)\b[^"]* from "([^"]+)";$/gm)].map(([, specifier]) => specifier ?? ""),
    );
    expect(specifiers.filter((specifier) => !/^(node:[a-z/]+|\.{1,2}\/.+\.js)$/.test(specifier))).toEqual([]);
    expect(files.filter((file) => /\.map$|test|crosscheck|noble/.test(file))).toEqual([]);
  });

  const smoke = (node: string): string => {
    const answer = join(folder, "answer.json");
    writeFileSync(answer, JSON.stringify(exampleOf("POST /v1/event-anchors", 201)));
    const vectors = ["receipt", "prepare"].map((name) => join(ROOT, "test", "vectors", `${name}.json`));
    const args = [SMOKE, join(unpacked, "dist", "index.js"), ...vectors, answer];
    return execFileSync(node, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
  };

  test("works on this Node", () => {
    expect(smoke(process.execPath)).toMatch(/^works on Node \d+/);
  });

  test("works on Node 18, where there is one", () => {
    const found = node18 === null ? null : smoke(node18);
    expect(found === null || found.startsWith("works on Node 18.")).toBe(true);
  });

  test("its types hold in a strict program of their user", () => {
    writeFileSync(
      join(folder, "program.ts"),
      `import { Client, verifyBundle, verifyReceipt } from "@event-anchoring/sdk";
import type { Anchor, BundleOutcome, ReceiptCheck } from "@event-anchoring/sdk";
export async function use(client: Client, check: ReceiptCheck): Promise<string> {
  const { anchor, receipt } = await client.createEventAnchor("00".repeat(32), { clientEventId: "a" });
  const any: Anchor = anchor;
  const outcome: BundleOutcome = verifyBundle("{}", { trustRoot: check.trustRoot }).outcome;
  // @ts-expect-error: bytes or hex, nothing else
  await client.getAnchor(7);
  return any.kind + outcome + verifyReceipt(receipt, check).anchorId;
}
`,
    );
    symlinkSync(join(ROOT, "node_modules", "@types"), join(folder, "node_modules", "@types"));
    symlinkSync(join(ROOT, "node_modules", "undici-types"), join(folder, "node_modules", "undici-types"));
    const options = { module: "nodenext", target: "es2022", strict: true, noEmit: true, types: ["node"] };
    const config = { compilerOptions: { ...options, exactOptionalPropertyTypes: true }, files: ["program.ts"] };
    writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
    writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
    const compiler = join(ROOT, "node_modules", "typescript", "bin", "tsc");
    const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", folder], { encoding: "utf8" });
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
  }, 60_000);

  test("its README shows the example that runs in the tests", () => {
    const example = readFileSync(join(SDK, "examples", "first-anchor.js"), "utf8")
      .split("\n")
      .slice(1)
      .join("\n");
    expect(read("README.md")).toContain(`\`\`\`js\n${example}\`\`\``);
    expect(example.split("\n").filter((line) => line !== "").length).toBeLessThanOrEqual(10);
  });
});
