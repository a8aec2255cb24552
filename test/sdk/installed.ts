import { copyFileSync, cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { findRustProgram } from "@event-anchoring/testkit/sdks";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import { sharedCluster } from "../shared-cluster.ts";
import { findPython } from "./find-python.ts";
import { CHECKOUT, ReleaseFolder, copyLibrary, examples, hasStaticRust, lineOf } from "./release-folder.ts";
import type { Environment } from "./release-folder.ts";

// What a release has is installed where there is nothing else, and runs the first example of its README on a cluster:
// as it is written there, but for addresses, keys and pins.

const RUST_TARGET = process.env["CARGO_TARGET_DIR"] ?? join(CHECKOUT, "packages/sdk-rust/target");
/** Where Rust is, and what was fetched for it. */
const RUST = {
  CARGO_HOME: process.env["CARGO_HOME"] ?? join(homedir(), ".cargo"),
  RUSTUP_HOME: process.env["RUSTUP_HOME"] ?? join(homedir(), ".rustup"),
  CARGO_NET_OFFLINE: "true",
};
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
const isStaticRustHere = hasStaticRust();
if (!isStaticRustHere) {
  process.stderr.write("test/sdk/installed.ts leaves out anchor-verify: rustup target add x86_64-unknown-linux-musl\n");
}

const release = new ReleaseFolder();
let setup: TestCluster;

const run: ReleaseFolder["run"] = (...args) => release.run(...args);

const api = (): { url: string; urls: readonly string[]; key: string; rootThk: string; trustRoot: string } => {
  const { nodes, trust_root: trust } = setup.cluster.file;
  const urls = nodes.map((node) => node.api_url);
  return { url: urls[0] ?? "", urls, key: setup.apiKey, rootThk: trust.root_thk, trustRoot: trust.document };
};

/** Runs lines of a shell, which end with the first that fails. */
function bash(cwd: string, env: Environment, ...lines: readonly string[]): Promise<string> {
  return run(cwd, "bash", ["-ec", lines.join("\n")], { HOME: cwd, ...env });
}

describe("installed from a release alone", () => {
  beforeAll(async () => {
    const makers = ["npm-sdk", "npm-adapters", "npm-anchorctl", "npm-raft"];
    if (python !== null) makers.push("python");
    if (isRustBuilt) makers.push("crate");
    await release.make(makers, python === null ? {} : { EVENT_ANCHORING_PYTHON: python });
    // test/long/anchor-verify.test.ts makes it twice: most of a minute each time.
    if (isStaticRustHere) await release.makeOnce("anchor-verify");
    setup = await sharedCluster();
  }, 600_000);

  afterAll(() => release.erase());

  test("the npm package of the SDK anchors a file, and checks the receipt", async () => {
    const project = release.emptyFolder("npm-sdk");
    await release.npmInstall(project, release.file(/^event-anchoring-sdk-.*\.tgz$/u));
    const readme = readFileSync(join(project, "node_modules/@event-anchoring/sdk/README.md"), "utf8");
    writeFileSync(join(project, "first.mjs"), examples(readme, "js", 1));
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

  test("the npm package of the adapters records a line of pino, which is anchored and kept", async () => {
    const project = release.emptyFolder("npm-adapters");
    await release.npmInstall(
      project,
      release.file(/^event-anchoring-sdk-/u),
      release.file(/^event-anchoring-adapters-/u),
    );
    copyLibrary("pino", project);
    const readme = readFileSync(join(project, "node_modules/@event-anchoring/adapters/README.md"), "utf8");
    const [, end = ""] = /^and end with `([^`]+)`\.$/mu.exec(readme) ?? [];
    writeFileSync(join(project, "first.mjs"), `${examples(readme, "js", 2)}${end};\n`);
    const { url, key, rootThk, trustRoot } = api();
    await run(project, process.execPath, ["first.mjs"], { ANCHORING_ENDPOINT: url, ANCHORING_API_KEY: key });
    const kept = readdirSync(join(project, "audit/kept"), { recursive: true, encoding: "utf8" }).map((name) =>
      join(project, "audit/kept", name),
    );
    const [envelope = "", ...others] = kept.filter((name) => name.endsWith(".json"));
    expect(others).toEqual([]);
    expect(JSON.parse(readFileSync(envelope, "utf8"))).toMatchObject({ content: { msg: "refund without receipt" } });
    writeFileSync(join(project, "trust-root.txt"), trustRoot);
    const verify = [release.file(/^anchorctl-.*\.js$/u), "verify", envelope, "--trust-root", "trust-root.txt"];
    expect(await run(project, process.execPath, [...verify, "--root-thk", rootThk])).toMatch(/^VALID: /mu);
    await expect(run(project, process.execPath, [...verify, "--root-thk", ANOTHER_PIN])).rejects.toThrow();
  }, 120_000);

  test("the npm package of the consensus engine runs its first example", async () => {
    const project = release.emptyFolder("npm-raft-ts");
    await release.npmInstall(project, release.file(/^raft-ts-.*\.tgz$/u));
    const readme = readFileSync(join(project, "node_modules/raft-ts/README.md"), "utf8");
    writeFileSync(join(project, "first.mjs"), examples(readme, "js", 1));
    const [, printed = ""] = /it prints `([^`]+)`/u.exec(readme) ?? [];
    expect(printed).not.toBe("");
    expect(await run(project, process.execPath, ["first.mjs"])).toBe(`${printed}\n`);
  }, 120_000);

  describe("anchorctl", () => {
    test("anchors a file and verifies it, from npm and as one file", async () => {
      const project = release.emptyFolder("anchorctl");
      await release.npmInstall(project, "--global", "--prefix", project, release.file(/^anchorctl-.*\.tgz$/u));
      const readme = readFileSync(join(project, "lib/node_modules/anchorctl/README.md"), "utf8");
      const { url, key, rootThk, trustRoot } = api();
      writeFileSync(join(project, "log.txt"), CONTENT);
      writeFileSync(join(project, "trust-root.txt"), trustRoot);
      const addresses = lineOf(readme, "export ").replace("https://anchors.example.com", url).replace("…", key);
      const env = { PATH: `${join(project, "bin")}:${process.env["PATH"] ?? ""}`, PIN: rootThk };
      expect(await bash(project, env, addresses, lineOf(readme, "anchorctl anchor "))).toContain("log.txt.tlog-proof");
      const verify = lineOf(readme, "anchorctl verify ");
      expect(await bash(project, env, verify)).toMatch(/^VALID: log\.txt is /mu);
      const oneFile = `node ${release.file(/^anchorctl-.*\.js$/u)}`;
      expect(await bash(project, env, verify.replace("anchorctl", oneFile))).toMatch(/^VALID: log\.txt is /mu);
      await expect(bash(project, { ...env, PIN: ANOTHER_PIN }, verify)).rejects.toThrow();
    }, 120_000);
  });

  (python === null ? describe.skip : describe).each([
    ["wheel", /\.whl$/u],
    ["sdist", /^event_anchoring-.*\.tar\.gz$/u],
  ])("the %s", (name, file) => {
    test("anchors an event, and checks the receipt", async () => {
      const project = release.emptyFolder(name);
      await run(project, python ?? "", ["-m", "venv", ".venv"]);
      const own = join(project, ".venv/bin/python");
      await run(project, own, ["-m", "pip", "install", "--quiet", release.file(file)]);
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
        const program = `${examples(readme, "python", 1, replaced)}\nprint(created.receipt.to_proof_text())\n`;
        return run(project, own, ["-I", "-W", "error", "-c", program]);
      };
      expect(await first(rootThk)).toContain("c2sp.org/tlog-proof@v1");
      await expect(first(ANOTHER_PIN)).rejects.toThrow("VerificationError");
    }, 240_000);
  });

  (isRustBuilt ? describe : describe.skip)("the crate", () => {
    test("anchors an event, checks the receipt, and keeps it", async () => {
      const folder = release.emptyFolder("crate");
      await run(folder, "tar", ["xzf", release.file(/\.crate$/u)]);
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
      const shown = examples(readFileSync(join(crate, "README.md"), "utf8"), "rust,no_run", 1, replaced);
      writeFileSync(join(project, "src/main.rs"), `${shown.replaceAll(/^# ?/gmu, "")}${MAIN}`);
      await cargo("run", "--quiet", "--", rootThk);
      expect(readFileSync(join(project, "event.tlog-proof"), "utf8")).toMatch(/^c2sp\.org\/tlog-proof@v1\n/u);
      await expect(cargo("run", "--quiet", "--", ANOTHER_PIN)).rejects.toThrow("pin_mismatch");
    }, 300_000);
  });

  (isStaticRustHere ? describe : describe.skip)("the program anchor-verify", () => {
    test("verifies a receipt and a bundle of the cluster, where there is no other program", async () => {
      const project = release.emptyFolder("anchor-verify");
      const { urls, key, rootThk, trustRoot } = api();
      writeFileSync(join(project, "log.txt"), CONTENT);
      writeFileSync(join(project, "trust-root.txt"), trustRoot);
      writeFileSync(join(project, "root-thk.txt"), rootThk);
      const anchorctl = (...args: string[]): Promise<string> =>
        run(project, process.execPath, [release.file(/^anchorctl-.*\.js$/u), ...args], {
          ANCHORCTL_API_URLS: urls.join(","),
          ANCHORCTL_API_KEY: key,
          ANCHORCTL_ROOT_THK: rootThk,
        });
      const said = JSON.parse(await anchorctl("anchor", "log.txt", "--json")) as { anchor_id: string };
      await anchorctl("bundle", said.anchor_id, "--trust-root", "trust-root.txt", "--out", "act.bundle.json");
      mkdirSync(join(project, "bin"));
      copyFileSync(release.file(/^anchor-verify-/u), join(project, "bin/anchor-verify"));
      const readme = readFileSync(join(CHECKOUT, "packages/sdk-rust/README.md"), "utf8");
      const verify = async (file: string, pin: string): Promise<string> => {
        const lines = ["PATH=bin", lineOf(readme, `anchor-verify ${file} `)];
        return bash(project, { ANCHORING_ROOT_THK: pin }, ...lines);
      };
      expect(await verify("log.txt", rootThk)).toMatch(/^VALID: log\.txt is /mu);
      expect(await verify("act.bundle.json", rootThk)).toMatch(/^VALID: /mu);
      await expect(verify("log.txt", ANOTHER_PIN)).rejects.toMatchObject({ code: 1 });
      await expect(verify("act.bundle.json", ANOTHER_PIN)).rejects.toMatchObject({ code: 1 });
      writeFileSync(join(project, "log.txt"), `${CONTENT}, says somebody`);
      await expect(verify("log.txt", rootThk)).rejects.toMatchObject({ code: 1 });
    }, 120_000);
  });

  (python !== null && isRustBuilt ? describe : describe.skip)("README's section on installing", () => {
    test("is typed as it is written, in the folder of the release", async () => {
      const readme = readFileSync(join(CHECKOUT, "README.md"), "utf8");
      const [, section = ""] = /^## Install\n([^]*?)^## /mu.exec(readme) ?? [];
      const home = release.emptyFolder("readme");
      const folder = join(home, "release");
      cpSync(release.path, folder, { recursive: true });
      await run(home, python ?? "", ["-m", "venv", "venv"]);
      const env = {
        ...RUST,
        HOME: home,
        NPM_CONFIG_OFFLINE: "true",
        NPM_CONFIG_PREFIX: join(home, "npm"),
        PATH: [join(home, "venv/bin"), join(home, "npm/bin"), process.env["PATH"] ?? ""].join(":"),
      };
      // The project of Rust that the last line is for.
      await run(folder, "cargo", ["init", "--quiet", "--vcs", "none", "--name", "project", "."], env);
      const crate = release.file(/\.crate$/u);
      await run(home, "tar", ["xzf", crate, "--strip-components=1", "--wildcards", "*/Cargo.lock"]);
      copyFileSync(join(home, "Cargo.lock"), join(folder, "Cargo.lock"));
      const said = await bash(folder, env, examples(section, "sh", 1), "anchorctl --version", "cargo tree --depth 1");
      expect(said).toMatch(/^event-anchoring-sdk-\S+: OK$/mu);
      expect(said).toMatch(/^anchorctl \d+\.\d+\.\d+$/mu);
      expect(said).toMatch(/event-anchoring v\d+\.\d+\.\d+/u);
      const used = ["-e", "import('@event-anchoring/sdk').then((sdk) => console.log(typeof sdk.Client))"];
      expect(await run(folder, process.execPath, used)).toBe("function\n");
      const imported = ["-I", "-c", "import event_anchoring; print(event_anchoring.Client.__name__)"];
      expect(await run(folder, join(home, "venv/bin/python"), imported)).toBe("Client\n");
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
