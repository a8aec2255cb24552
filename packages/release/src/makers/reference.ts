import { cp, mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Maker } from "../artefact.ts";
import { CHECKOUT } from "../checkout.ts";
import { filesUnder } from "../files.ts";
import { run } from "../run.ts";
import { findPython } from "./python-packages.ts";

const PACKAGES = join(CHECKOUT, "packages");

const RUST_INDEX = `<!doctype html>
<meta charset="utf-8">
<title>event-anchoring</title>
<meta http-equiv="refresh" content="0; url=event_anchoring/index.html">
<a href="event_anchoring/index.html">event_anchoring</a>
`;

/** Those that the documentation of ci.sh has. */
const PYTHON_MODULES = [
  "",
  ".asynchronous",
  ".synchronous",
  ".tiles",
  ".adapters",
  ".adapters.langchain",
  ".adapters.openai_agents",
];

/** typedoc, with a TypeScript of its own: that of the repository has no API. */
async function ofTypeScript(out: string): Promise<void> {
  const sdk = join(PACKAGES, "sdk-typescript");
  const typedoc = join(PACKAGES, "release/node_modules/typedoc/bin/typedoc");
  const entries = ["src/index.ts", "src/recorder/index.ts"].flatMap((entry) => ["--entryPoints", entry]);
  const strict = ["--treatWarningsAsErrors", "--disableSources", "--excludePrivate", "--tsconfig", "tsconfig.json"];
  // The README is a page of the site already, and typedoc numbers the colours of its examples as they come.
  const args = [typedoc, ...strict, "--readme", "none", "--name", "@event-anchoring/sdk", ...entries, "--out", out];
  await run(process.execPath, args, { cwd: sdk });
}

async function ofPython(out: string, sourceDateEpoch: number): Promise<void> {
  const sources = join(PACKAGES, "sdk-python/src");
  const env = {
    PYTHONPATH: sources,
    PYTHONDONTWRITEBYTECODE: "1",
    // The order of sets is in what is written of them.
    PYTHONHASHSEED: "0",
    SOURCE_DATE_EPOCH: String(sourceDateEpoch),
  };
  const python = await findPython("import pdoc, event_anchoring", env);
  const modules = PYTHON_MODULES.map((name) => `event_anchoring${name}`);
  const args = ["-W", "error", "-m", "pdoc", "--docformat", "google", "--output-directory", out, ...modules];
  await run(python, args, { cwd: sources, env });
}

async function ofRust(out: string): Promise<void> {
  const sdk = join(PACKAGES, "sdk-rust");
  // Where the SDK is built: what it depends on is compiled once.
  const target = process.env["CARGO_TARGET_DIR"] ?? join(sdk, "target");
  const built = join(target, "doc");
  await rm(built, { recursive: true, force: true });
  const env = { CARGO_TARGET_DIR: target, RUSTDOCFLAGS: "-D warnings" };
  await run("cargo", ["doc", "--locked", "--no-deps", "--lib", "--quiet"], { cwd: sdk, env });
  await cp(built, out, { recursive: true, filter: (path) => !path.endsWith("/.lock") });
  // Its pages lead here, and rustdoc writes it for several crates alone.
  await writeFile(join(out, "index.html"), RUST_INDEX);
}

/** What the docstrings of the three SDKs say, as a part of the site. */
export const reference: Maker = {
  name: "reference",
  make: async ({ folder, sourceDateEpoch }) => {
    const place = join(folder, "site/reference");
    await mkdir(place, { recursive: true });
    await ofTypeScript(join(place, "typescript"));
    await ofPython(join(place, "python"), sourceDateEpoch);
    await ofRust(join(place, "rust"));
    return filesUnder(folder);
  },
};
