/** The alert rules, held against the series of alerts.test.yml by Prometheus' own tool, and against the code. */
import { spawnSync } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const RULES = join(ROOT, "deploy", "prometheus", "alerts.yml");
const rules = readFileSync(RULES, "utf8");
const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;

const promtool = (...args: readonly string[]): string => {
  const { status, stdout, stderr } = spawnSync("promtool", [...args], { encoding: "utf8" });
  return `${status} ${stdout}${stderr}`;
};

if (!hasPromtool) process.stdout.write("promtool is not here (Debian package prometheus): the rules are not run\n");

(hasPromtool ? describe : describe.skip)("promtool", () => {
  test("takes the rules", () => {
    expect(promtool("check", "rules", RULES)).toMatch(/^0 [^]*SUCCESS: \d+ rules found/u);
  });

  test("finds that each fires when it should, and not before, nor after", () => {
    expect(promtool("test", "rules", join(ROOT, "deploy", "prometheus", "alerts.test.yml"))).toMatch(/^0 [^]*SUCCESS/u);
  });
});

describe("each alert", () => {
  const alerts = [...rules.matchAll(/- alert: (\w+)\n[^]*?(?=\n\n|\n {2}- name|$)/gu)].map(([text, name]) => ({
    name: name ?? "",
    text,
  }));
  const page = readFileSync(join(ROOT, "docs", "operating", "alerts.md"), "utf8");
  const tests = readFileSync(join(ROOT, "deploy", "prometheus", "alerts.test.yml"), "utf8");

  test("is one of many", () => {
    expect(alerts.length).toBeGreaterThan(15);
    expect(new Set(alerts.map(({ name }) => name)).size).toBe(alerts.length);
  });

  test.each(alerts)("$name has a section, a severity and a test that sees it fire", ({ name, text }) => {
    expect(page).toContain(`\n## ${name}\n`);
    expect(text).toContain(`runbook_url: docs/operating/alerts.md#${name.toLowerCase()}`);
    expect(text).toMatch(/severity: (critical|warning)/u);
    expect(tests).toMatch(new RegExp(`alertname: ${name}\\n +exp_alerts:\\n`, "u"));
  });

  test("is about metrics that the service has", () => {
    const named = new Set([...rules.matchAll(/\banchoring_[a-z_]+\b/gu)].map(([metric]) => metric));
    const sources = ["control-plane", "api"].flatMap((name) => {
      const folder = join(ROOT, "packages", name, "src");
      return readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith("metrics.ts"))
        .map((file) => readFileSync(join(folder, file), "utf8"));
    });
    const source = sources.join("\n");
    const missing = [...named].filter(
      (metric) => !source.includes(`"${metric}"`) && !source.includes(metric.replace("anchoring_", "")),
    );
    expect(missing).toEqual([]);
  });
});
