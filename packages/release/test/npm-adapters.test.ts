import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { CHECKOUT } from "../src/checkout.ts";

// Both packages are made, installed where there is nothing else, and used by programs like a user's.

const project = mkdtempSync(join(tmpdir(), "anchoring-adapters-package-"));
const installed = join(project, "node_modules", "@event-anchoring", "adapters");

beforeAll(() => {
  const packed = join(project, "packed");
  const release = join(CHECKOUT, "packages/release/bin/release.js");
  const wanted = ["--only", "npm-sdk", "--only", "npm-adapters"];
  execFileSync(process.execPath, [release, "--dry", ...wanted, "--out", packed], { stdio: "pipe" });
  writeFileSync(join(project, "package.json"), JSON.stringify({ private: true, type: "module" }));
  const tarballs = readdirSync(packed).filter((name) => name.endsWith(".tgz"));
  const install = ["install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"];
  execFileSync("npm", [...install, ...tarballs.map((name) => join(packed, name))], { cwd: project, stdio: "pipe" });
}, 300_000);

afterAll(() => rmSync(project, { recursive: true }));

test("has no dependencies but the SDK, which its user has", () => {
  const manifest = JSON.parse(readFileSync(join(installed, "package.json"), "utf8")) as Record<string, unknown>;
  expect(manifest["peerDependencies"]).toEqual({ "@event-anchoring/sdk": "0.2.0" });
  expect(Object.keys(manifest)).not.toContain("dependencies");
  for (const file of ["index.js", "index.cjs"]) {
    expect(readFileSync(join(installed, "dist", file), "utf8")).not.toMatch(/^import\b|\brequire\(/m);
  }
});

test.each([
  ["import", "const adapters = await import('@event-anchoring/adapters');", "module"],
  ["require", "const adapters = require('@event-anchoring/adapters');", "commonjs"],
])("works by %s", (_, line, type) => {
  const program = `${line}
    const record = (content, { what }) => process.stdout.write(what + " " + content.msg + "\\n");
    adapters.recordingDestination({ record }).write('{"msg":"refunded"}\\n');`;
  const { stdout, stderr } = spawnSync(process.execPath, [`--input-type=${type}`, "-e", program], {
    cwd: project,
    encoding: "utf8",
  });
  expect({ stdout, stderr }).toEqual({ stdout: "log refunded\n", stderr: "" });
});

const USE = `import { RecordingSpanProcessor, recordTool } from "@event-anchoring/adapters";
import type { Recorder } from "@event-anchoring/sdk/recorder";
export function use(recorder: Recorder): Promise<number> {
  void new RecordingSpanProcessor(recorder, { semanticAnchor: { irisRef: "00".repeat(32) } });
  return recordTool(recorder, "length", (text: string) => text.length)("four");
}
`;

test.each(["program.ts", "program.cts"])("its types hold in a strict program without Node's types: %s", (file) => {
  writeFileSync(join(project, file), USE);
  const strict = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, types: [], noEmit: true };
  const compilerOptions = { ...strict, module: "nodenext", moduleResolution: "nodenext", target: "es2022" };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: [file] }));
  const compiler = join(CHECKOUT, "node_modules", "typescript", "bin", "tsc");
  const { status, stdout } = spawnSync(process.execPath, [compiler, "-p", project], { encoding: "utf8" });
  expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
});
