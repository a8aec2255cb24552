/** The dashboard, held against Grafana's types, and every expression against the grammar of Prometheus. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { parser } from "@prometheus-io/lezer-promql";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

interface Target {
  readonly expr: string;
  readonly refId: string;
  readonly datasource: unknown;
}

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly description?: string;
  readonly datasource?: unknown;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly Target[];
}

interface Variable {
  readonly name: string;
  readonly type: string;
  readonly query: unknown;
}

const TEXT = read("deploy/grafana/dashboards/cluster.json");
const { panels, templating } = JSON.parse(TEXT) as {
  readonly panels: readonly Panel[];
  readonly templating: { readonly list: readonly Variable[] };
};
const targets = panels.flatMap((panel) => panel.targets ?? []);
/** As Grafana fills them in. */
const filled = (expr: string): string => expr.replaceAll("$__range", "1h").replaceAll("$job", ".+");

/** Where an expression is none of Prometheus' language; null: it is one. */
function promqlFault(expr: string): string | null {
  const faultsAt: number[] = [];
  parser.parse(expr).iterate({
    enter: ({ type, from }) => {
      if (type.isError) faultsAt.push(from);
    },
  });
  const [at] = faultsAt;
  return at === undefined ? null : `${expr} is no PromQL at ${at}`;
}

describe("the dashboard", () => {
  test("is of any data source, and of the jobs that are chosen", () => {
    expect(templating.list.map(({ name, type }) => [name, type])).toEqual([
      ["datasource", "datasource"],
      ["job", "query"],
    ]);
    const source = { type: "prometheus", uid: "${datasource}" };
    const sources = [...panels.filter(({ type }) => type !== "row"), ...targets].map(({ datasource }) => datasource);
    expect(sources.filter((each) => JSON.stringify(each) !== JSON.stringify(source))).toEqual([]);
    const own = targets.flatMap(({ expr }) => expr.match(/\banchoring_[a-z0-9_]+(?:\{[^}]*\})?/gu) ?? []);
    expect(own.length).toBeGreaterThan(40);
    expect(own.filter((selector) => !selector.includes('{job=~"$job"'))).toEqual([]);
  });

  test("has panels that do not overlap, each of an id of its own", () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  test("begins with service levels, after what is wrong now, and explains them", () => {
    const rows = panels.filter(({ type }) => type === "row");
    expect(rows[1]?.title).toMatch(/^Service levels/u);
    const from = panels.findIndex(({ title }) => title === rows[1]?.title);
    const to = panels.findIndex(({ title }) => title === rows[2]?.title);
    expect(panels.slice(from + 1, to).map(({ description = "" }) => description.length > 40)).toEqual([
      true,
      true,
      true,
    ]);
  });

  test("asks in Prometheus' language", () => {
    expect(targets.length).toBeGreaterThan(60);
    expect(targets.map(({ expr }) => promqlFault(filled(expr))).filter((fault) => fault !== null)).toEqual([]);
    for (const wrong of ["rate(x[1m]", "sum by (a (x)", "x{job=}", "1 +"]) expect(promqlFault(wrong)).not.toBeNull();
  });

  test("is what Grafana's schema says, to the last property", () => {
    // Within the checkout, so that the compiler finds the types. A literal may have no unknown property.
    const folder = mkdtempSync(join(ROOT, "node_modules/.dashboard-"));
    try {
      expect(compiled(folder, TEXT)).toBe("");
      expect(compiled(folder, TEXT.replace('"gridPos"', '"gridPosition"'))).toContain("gridPosition");
      expect(compiled(folder, TEXT.replace('"refresh": 1', '"refresh": 7'))).toContain("7");
    } finally {
      rmSync(folder, { recursive: true });
    }
  }, 60_000);
});

/**
 * What the compiler says of the dashboard as a literal of Grafana's type. Its enums are taken as what they are in JSON,
 * and the lowest threshold is null there, since JSON has no infinity.
 */
function compiled(folder: string, text: string): string {
  const source = [
    'import type { Dashboard } from "@grafana/schema";',
    "type Json<T> = T extends string ? `${T}` : T extends number | boolean | null | undefined ? T",
    "  : T extends readonly (infer Item)[] ? Json<Item>[]",
    "  : { [Name in keyof T]: Json<T[Name]> | (Name extends 'value' ? null : never) };",
    `export const dashboard: Json<Dashboard> = ${text.trim()};`,
  ].join("\n");
  writeFileSync(join(folder, "dashboard.ts"), source);
  const flags = [
    "--noEmit",
    "--strict",
    "--skipLibCheck",
    "--target",
    "es2022",
    "--module",
    "nodenext",
    "--ignoreConfig",
  ];
  const args = [join(ROOT, "node_modules/typescript/bin/tsc"), ...flags, "--types", "", join(folder, "dashboard.ts")];
  const { stdout } = spawnSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
  return stdout;
}

describe("each alert", () => {
  const files = ["alerts.yml", "deployment.yml"].map((name) => read(`deploy/prometheus/${name}`));
  const alerts = files.flatMap((text) =>
    [...text.matchAll(/- alert: (\w+)\n[^]*?(?=\n\n|\n {2}- name|$)/gu)].map(([rule, name = ""]) => ({ name, rule })),
  );
  /** As Markdown readers make an anchor of a heading. */
  const anchorsOf = (page: string): readonly string[] =>
    [...read(page).matchAll(/^#+ (.+)$/gmu)].map(([, title = ""]) =>
      title
        .toLowerCase()
        .replaceAll(/[^a-z0-9 _-]/gu, "")
        .replaceAll(" ", "-"),
    );

  test.each(alerts)("$name leads to a section of a page that there is", ({ rule }) => {
    const urls = [...rule.matchAll(/^ +runbook_url: (\S+)$/gmu)].map(([, url = ""]) => url);
    expect(urls).toHaveLength(1);
    const [page = "", anchor = ""] = (urls[0] ?? "").split("#");
    expect(readdirSync(join(ROOT, "docs/operating"))).toContain(page.replace("docs/operating/", ""));
    expect(anchorsOf(page)).toContain(anchor);
    expect(rule).not.toMatch(/ runbook: /u);
  });

  test("asks in Prometheus' language", () => {
    const expressions = alerts.map(({ rule }) => {
      const [, inline = ""] = /^ +expr: ([^|>\n].*)$/mu.exec(rule) ?? [];
      const [, block = ""] = /^ +expr: [|>]-?\n((?: {10}.*\n)+)/mu.exec(rule) ?? [];
      return inline === "" ? block : inline;
    });
    expect(expressions.filter((expr) => expr.trim() === "")).toEqual([]);
    expect(expressions.map(promqlFault).filter((fault) => fault !== null)).toEqual([]);
  });
});
