import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { findRustProgram } from "@event-anchoring/testkit";
import type { TestCluster } from "@event-anchoring/testkit";
import { sharedCluster } from "../shared-cluster.ts";
import { findPython } from "./find-python.ts";

// What a release has is installed where there is nothing else, and runs the first example of its README on a cluster:
// as it is written there, but for addresses, keys and pins.

const CHECKOUT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const RUST_TARGET = process.env["CARGO_TARGET_DIR"] ?? join(CHECKOUT, "packages/sdk-rust/target");
const CONTENT = "what happened";
const ANOTHER_PIN = "ab".repeat(32);

const python = findPython("import build, hatchling, cryptography");
if (python === null) {
  process.stderr.write(
    "test/sdk/installed.ts leaves out Python: packages/sdk-python/ci.sh sets up what makes a wheel\n",
  );
}
/** Then its dependencies are compiled, which takes minutes. */
const isRustBuilt = findRustProgram(["debug/deps"], /^cluster-[0-9a-f]+$/, ["src", "tests/cluster.rs"]) !== null;
if (!isRustBuilt) {
  process.stderr.write("test/sdk/installed.ts leaves out Rust: packages/sdk-rust/ci.sh builds what it needs\n");
}

const place = mkdtempSync(join(tmpdir(), "anchoring-installed-"));
const packed = join(place, "release");
let setup: TestCluster;

type Environment = Readonly<Record<string, string>>;

/** Nothing of this checkout is in the environment, nor what npm has kept elsewhere. */
async function run(cwd: string, program: string, args: readonly string[], env: Environment = {}): Promise<string> {
  const own = Object.entries(process.env).filter(
    ([name]) => !/^(npm_|NODE_|ANCHOR|EVENT_ANCHORING|PYTHON)/iu.test(name),
  );
  const home = program === "npm" ? { HOME: place } : {};
  const { stdout } = await promisify(execFile)(program, args, {
    cwd,
    env: { ...Object.fromEntries(own), ...home, ...env },
  });
  return stdout;
}

/** @returns a new folder, outside the checkout */
function emptyFolder(name: string): string {
  const folder = join(place, name);
  mkdirSync(folder);
  return folder;
}

/** @returns the file of the release */
function made(name: RegExp): string {
  const file = readdirSync(packed).find((each) => name.test(each));
  if (file === undefined) throw new Error(`the release has no ${String(name)}`);
  return join(packed, file);
}

/** @returns the first block in that language, with other texts in the place of some */
function example(readme: string, language: string, replaced: ReadonlyMap<string, string> = new Map()): string {
  const [, block] = new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\`$`, "mu").exec(readme) ?? [];
  if (block === undefined) throw new Error(`the README has no example in ${language}`);
  return [...replaced].reduce((text, [from, to]) => {
    if (!text.includes(from)) throw new Error(`the README's example does not say ${from}`);
    return text.replaceAll(from, to);
  }, block);
}

const api = (): { url: string; urls: readonly string[]; key: string; rootThk: string; trustRoot: string } => {
  const { nodes, trust_root: trust } = setup.cluster.file;
  const urls = nodes.map((node) => node.api_url);
  return { url: urls[0] ?? "", urls, key: setup.apiKey, rootThk: trust.root_thk, trustRoot: trust.document };
};

const npmInstall = (folder: string, ...args: string[]): Promise<string> =>
  run(folder, "npm", ["install", "--offline", "--no-audit", "--no-fund", ...args]);

describe("installed from a release alone", () => {
  beforeAll(async () => {
    const makers = ["npm-sdk", "npm-anchorctl", "npm-raft"];
    if (python !== null) makers.push("python");
    if (isRustBuilt) makers.push("crate");
    const only = makers.flatMap((maker) => ["--only", maker]);
    const release = join(CHECKOUT, "packages/release/bin/release.js");
    const ownPython: Environment = python === null ? {} : { EVENT_ANCHORING_PYTHON: python };
    await run(CHECKOUT, process.execPath, [release, "--dry", ...only, "--out", packed], ownPython);
    setup = await sharedCluster();
  }, 300_000);

  afterAll(() => rmSync(place, { recursive: true }));

  test("the npm package of the SDK anchors a file, and checks the receipt", async () => {
    const project = emptyFolder("npm-sdk");
    await npmInstall(project, made(/^event-anchoring-sdk-.*\.tgz$/u));
    const readme = readFileSync(join(project, "node_modules/@event-anchoring/sdk/README.md"), "utf8");
    writeFileSync(join(project, "first.mjs"), example(readme, "js"));
    writeFileSync(join(project, "log.txt"), CONTENT);
    const { url, key, rootThk } = api();
    const first = (pin: string): Promise<string> =>
      run(project, process.execPath, ["first.mjs", "log.txt"], {
        ANCHORING_ENDPOINT: url,
        ANCHORING_API_KEY: key,
        ANCHORING_ROOT_THK: pin,
      });
    expect(await first(rootThk)).toMatch(/^\S+ is cosigned by \S+, \S+/u);
    await expect(first(ANOTHER_PIN)).rejects.toThrow("VerificationError");
  }, 120_000);

  test("the npm package of the consensus engine runs its first example", async () => {
    const project = emptyFolder("npm-raft-ts");
    await npmInstall(project, made(/^raft-ts-.*\.tgz$/u));
    const readme = readFileSync(join(project, "node_modules/raft-ts/README.md"), "utf8");
    writeFileSync(join(project, "first.mjs"), example(readme, "js"));
    const [, printed = ""] = /it prints `([^`]+)`/u.exec(readme) ?? [];
    expect(printed).not.toBe("");
    expect(await run(project, process.execPath, ["first.mjs"])).toBe(`${printed}\n`);
  }, 120_000);

  describe("anchorctl", () => {
    test("anchors a file and verifies it, from npm and as one file", async () => {
      const project = emptyFolder("anchorctl");
      await npmInstall(project, "--global", "--prefix", project, made(/^anchorctl-.*\.tgz$/u));
      const readme = readFileSync(join(project, "lib/node_modules/anchorctl/README.md"), "utf8");
      const { url, key, rootThk, trustRoot } = api();
      writeFileSync(join(project, "log.txt"), CONTENT);
      writeFileSync(join(project, "trust-root.txt"), trustRoot);
      const lines = readme.split("\n");
      const line = (start: string): string =>
        lines.find((each) => each.startsWith(start)) ?? `echo no ${start}; exit 99`;
      const addresses = line("export ").replace("https://anchors.example.com", url).replace("…", key);
      const env = { PATH: `${join(project, "bin")}:${process.env["PATH"] ?? ""}`, PIN: rootThk, HOME: project };
      const bash = (...script: string[]): Promise<string> => run(project, "bash", ["-ec", script.join("\n")], env);
      expect(await bash(addresses, line("anchorctl anchor "))).toContain("log.txt.tlog-proof");
      const verify = line("anchorctl verify ");
      expect(await bash(verify)).toMatch(/^VALID: log\.txt is /mu);
      const oneFile = `node ${made(/^anchorctl-.*\.js$/u)}`;
      expect(await bash(verify.replace("anchorctl", oneFile))).toMatch(/^VALID: log\.txt is /mu);
      await expect(bash(`PIN=${ANOTHER_PIN}`, verify)).rejects.toThrow();
    }, 120_000);
  });

  (python === null ? describe.skip : describe)("the wheel", () => {
    test("anchors an event, and checks the receipt", async () => {
      const project = emptyFolder("wheel");
      await run(project, python ?? "", ["-m", "venv", ".venv"]);
      const own = join(project, ".venv/bin/python");
      await run(project, own, ["-m", "pip", "install", "--quiet", made(/\.whl$/u)]);
      const readme = await run(project, own, [
        "-c",
        "import importlib.metadata as m; print(m.metadata('event-anchoring').get_payload())",
      ]);
      const { urls, key, rootThk } = api();
      const first = (pin: string): Promise<string> => {
        const replaced = new Map([
          ['["https://n1.example", "https://n2.example"]', JSON.stringify(urls)],
          ["<API_KEY>", key],
          ["<RootTHK that you were given>", pin],
        ]);
        const program = `${example(readme, "python", replaced)}\nprint(created.receipt.to_proof_text())\n`;
        return run(project, own, ["-I", "-W", "error", "-c", program]);
      };
      expect(await first(rootThk)).toContain("c2sp.org/tlog-proof@v1");
      await expect(first(ANOTHER_PIN)).rejects.toThrow("VerificationError");
    }, 240_000);
  });

  (isRustBuilt ? describe : describe.skip)("the crate", () => {
    test("anchors an event, checks the receipt, and keeps it", async () => {
      const folder = emptyFolder("crate");
      await run(folder, "tar", ["xzf", made(/\.crate$/u)]);
      const crate = join(folder, readdirSync(folder)[0] ?? "");
      const project = join(folder, "first");
      const env = { CARGO_NET_OFFLINE: "true", CARGO_TARGET_DIR: RUST_TARGET };
      const cargo = (...args: string[]): Promise<string> => run(project, "cargo", args, env);
      await run(folder, "cargo", ["init", "--quiet", "--vcs", "none", project], env);
      writeFileSync(join(project, "Cargo.lock"), readFileSync(join(crate, "Cargo.lock")));
      await cargo("add", "--quiet", "--path", crate);
      await cargo("add", "--quiet", "tokio@1", "--features", "rt");
      const { url, key, rootThk } = api();
      const replaced = new Map([
        ["https://anchor.example", url],
        ["<API_KEY>", key],
      ]);
      const shown = example(readFileSync(join(crate, "README.md"), "utf8"), "rust,no_run", replaced);
      writeFileSync(join(project, "src/main.rs"), `${shown.replaceAll(/^# ?/gmu, "")}${MAIN}`);
      await cargo("run", "--quiet", "--", rootThk);
      expect(readFileSync(join(project, "event.tlog-proof"), "utf8")).toMatch(/^c2sp\.org\/tlog-proof@v1\n/u);
      await expect(cargo("run", "--quiet", "--", ANOTHER_PIN)).rejects.toThrow("pin_mismatch");
    }, 300_000);
  });
});

const MAIN = `
fn main() -> event_anchoring::Result<()> {
    let pin = std::env::args().nth(1).expect("a pin");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(first_anchor(&pin))
}
`;
