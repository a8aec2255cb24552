import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";

// Rules and dashboard of deploy/, and the metrics that the code declares.

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const FOLDER = join(ROOT, "deploy/prometheus");
const isPromtoolThere = spawnSync("promtool", ["--version"]).status === 0;
const describeWithPromtool = isPromtoolThere ? describe : describe.skip;
const NOTE = isPromtoolThere ? "" : " (skipped: no promtool here; apt-get install prometheus)";

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const RULES = read("deploy/prometheus/deployment.yml");
const RULE_TESTS = read("deploy/prometheus/deployment.test.yml");
const ALERTS = [...RULES.matchAll(/- alert: (\w+)/g)].map(([, name = ""]) => name);

function promtool(...args: string[]): { status: number | null; text: string } {
  const { status, stdout, stderr } = spawnSync("promtool", args, { cwd: FOLDER, encoding: "utf8" });
  return { status, text: stdout + stderr };
}

describeWithPromtool(`promtool${NOTE}`, () => {
  test.each([
    ["the configuration", ["check", "config", "prometheus.yml"]],
    ["the rules", ["check", "rules", "deployment.yml"]],
    ["what the rules do", ["test", "rules", "deployment.test.yml"]],
  ])("takes %s for good", (_what, args) => {
    const { status, text } = promtool(...args);
    expect([status, status === 0 ? "" : text]).toEqual([0, ""]);
  });
});

describe("the rules", () => {
  test("are each seen to fire by their tests", () => {
    const firing = ALERTS.filter((name) => new RegExp(`alertname: ${name}\\n\\s+exp_alerts:\\n`).test(RULE_TESTS));
    expect(ALERTS.length).toBeGreaterThan(5);
    expect(firing).toEqual(ALERTS);
  });

  test("have a severity, a summary, and a page with that section", () => {
    expect(RULES.match(/severity: (critical|warning)/g)).toHaveLength(ALERTS.length);
    expect(RULES.match(/^ {10}summary: /gm)).toHaveLength(ALERTS.length);
    const pages = [...RULES.matchAll(/runbook_url: (\S+)#(\S+)/g)];
    const headings = (page = ""): string[] =>
      [...read(page).matchAll(/^## (.+)$/gm)].map(([, title = ""]) =>
        title
          .toLowerCase()
          .replaceAll(/[^a-z0-9 -]/g, "")
          .replaceAll(" ", "-"),
      );
    expect(pages).toHaveLength(ALERTS.length);
    expect(pages.filter(([, page, section = ""]) => !headings(page).includes(section))).toEqual([]);
  });

  test("are loaded, with those of the cluster", () => {
    expect(read("deploy/prometheus/prometheus.yml")).toContain("rule_files: [alerts.yml, deployment.yml]\n");
  });
});

describe("what rules and dashboard ask for", () => {
  const SOURCES = ["packages/control-plane/src", "packages/api/src", "packages/cli/src", "packages/telemetry/src"]
    .flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((name) => join(folder, name)),
    )
    .filter((path) => /(metrics|timings)\.ts$/.test(path))
    .map(read)
    .join("\n");
  const DASHBOARD = JSON.parse(read("deploy/grafana/dashboards/cluster.json")) as {
    panels: { targets?: { expr: string }[] }[];
  };
  const asked = [
    RULES,
    read("deploy/prometheus/alerts.yml"),
    ...DASHBOARD.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
  ].join("\n");
  const names = [...new Set(asked.match(/\banchoring_[a-z0-9_]+/g) ?? [])];

  test("is declared in the code", () => {
    /** Those that the client library declares by itself. */
    const own = names.filter((name) => !/^anchoring_(api|control_plane)_(process|nodejs)_/.test(name));
    /** As its source has it: both processes declare the delay of their loop under a prefix of their own. */
    const base = (name: string): string =>
      name
        .replace("anchoring_", "")
        .replace(/^(api|control_plane)_event_loop_/, "event_loop_")
        .replace(/_(count|bucket|sum)$/, "");
    expect(own.length).toBeGreaterThan(20);
    expect(own.filter((name) => !SOURCES.includes(base(name)))).toEqual([]);
  });

  test("of the gateway is kept when it is scraped", () => {
    const kept = /regex: (haproxy_\S+)/.exec(read("deploy/prometheus/prometheus.yml"))?.[1] ?? "";
    const wanted = [...new Set(asked.match(/\bhaproxy_[a-z_]+/g) ?? [])];
    expect(wanted.length).toBeGreaterThan(3);
    expect(wanted.filter((name) => !new RegExp(`^${kept}$`).test(name))).toEqual([]);
  });
});
