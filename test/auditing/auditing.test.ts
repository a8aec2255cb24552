import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";

/** Runs the commands of docs/auditing.md as they stand there, and then with something altered. */

const PAGE = readFileSync(fileURLToPath(new URL("../../docs/auditing.md", import.meta.url)), "utf8");
const COMMANDS = [...PAGE.matchAll(/^```sh\n(.*?)^```$/gmsu)].map(([, block = ""]) => block).join("\n");
const TOOLS = ["bash", "sha256sum", "openssl", "base64", "xxd", "sed", "grep", "cut", "date"];

const missing = TOOLS.filter((tool) => spawnSync("sh", ["-c", `command -v ${tool}`]).status !== 0);
/** Without the tools the page cannot be tried; the title says which are missing. */
const describeWithTools = missing.length === 0 ? describe : describe.skip;
const TITLE = `docs/auditing.md${missing.length === 0 ? "" : ` (not tried: no ${missing.join(", ")} here)`}`;

let home: string;

beforeAll(() => {
  home = mkdtempSync(join(tmpdir(), "anchoring-auditing-"));
});

afterAll(() => {
  rmSync(home, { recursive: true, force: true });
});

interface Findings {
  readonly ok: readonly string[];
  readonly wrong: readonly string[];
}

/** What the page says in a folder of its own. @param alter what the commands are before they are run */
function audit(alter: (commands: string) => string = (commands) => commands): Findings {
  const folder = mkdtempSync(join(home, "audit-"));
  const run = spawnSync("bash", ["-s"], { cwd: folder, input: alter(COMMANDS), encoding: "utf8" });
  const lines = run.stdout.split("\n");
  return {
    ok: lines.filter((line) => line.startsWith("ok: ")),
    wrong: lines.filter((line) => line.startsWith("WRONG: ")).map((line) => line.slice("WRONG: ".length)),
  };
}

/** The text with something in it replaced, which must be there. */
function replaced(from: string | RegExp, to: string): (commands: string) => string {
  return (commands) => {
    const altered = commands.replace(from, to);
    if (altered === commands) throw new Error(`the page has no ${String(from)}`);
    return altered;
  };
}

describeWithTools(TITLE, () => {
  test("finds nothing wrong with the receipt on the page", () => {
    const { ok, wrong } = audit();
    expect(wrong).toEqual([]);
    expect(ok).toHaveLength(PAGE.match(/^ok "/gmu)?.length ?? 0);
    expect(ok).toHaveLength(10);
    expect(ok.at(-1)).toBe("ok: 2 nodes have signed, 2 are needed");
  });

  test.each([
    ["another file", replaced("42.00 EUR", "43.00 EUR"), /it holds the SHA-256 of the file/u],
    ["a leaf with another hash", replaced("NMyyDnYowh", "NMyyDnYowi"), /it holds the SHA-256|the path leads/u],
    ["a leaf with another time", replaced("AYAAAGh/KO", "AYAAAGh/KP"), /the path leads/u],
    ["another index", replaced(/^index 4$/mu, "index 5"), /the index is the leaf's depth/u],
    ["another hash of the path", replaced("KqM5mE4f", "KqM5mE4g"), /the path leads/u],
    ["a path without its last hash", replaced(/^ynVfGiym.*\n/mu, ""), /the path leads/u],
    ["a path with one hash more", replaced(/^(ynVfGiym.*\n)/mu, "$1$1"), /the path leads/u],
    ["another root", replaced("rUDNJNYG", "rUDNJNYH"), /the path leads|the log's key/u],
    ["another tree size", replaced(/^14$/mu, "15"), /the log's key/u],
    ["another origin in the checkpoint", replaced(/^(anchoring.*)2f\n14/mu, "$12e\n14"), /that of the leaf's origin/u],
    ["an altered line of the log", replaced("QuZ4s6l5", "QuZ4s6l6"), /the log's key/u],
    ["an altered line of a node", replaced("NvyeuwAAAABrATAQJ", "NvyeuwAAAABrATAQK"), /nodes have signed/u],
    ["a line of a node at another time", replaced("NvyeuwAAAABrATAQ", "NvyeuwAAAABrATAR"), /nodes have signed/u],
    ["too few nodes", replaced(/^— anchoring.localhost\/node\/n1 .*\n/mu, ""), /nodes have signed/u],
    ["a trust root with another quorum", replaced(/^quorum 2$/mu, "quorum 1"), /has the RootTHK/u],
    ["a trust root that nobody has signed", replaced("o1/qs8SU", "o1/qs8SV"), /the root key has signed/u],
    ["another RootTHK", replaced("ROOT_THK=9a", "ROOT_THK=9b"), /has the RootTHK/u],
  ])("finds %s", (_title, alter, finding) => {
    expect(audit(alter).wrong.join("\n")).toMatch(finding);
  });
});
