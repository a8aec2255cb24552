/** docker-compose.yml as it is written: no engine is asked. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { documentsOf } from "./manifests.ts";

interface Service {
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>;
  readonly healthcheck?: { readonly start_period: string; readonly interval: string; readonly retries: number };
}

const FILE = fileURLToPath(new URL("../../docker-compose.yml", import.meta.url));
const documents = documentsOf(readFileSync(FILE, "utf8"));
const NO_YAML = documents === null ? " (skipped: no PyYAML here)" : "";

const secondsOf = (text: string): number => {
  const [, seconds] = /^(\d+)s$/u.exec(text) ?? [];
  if (seconds === undefined) throw new Error(`${text} is no whole number of seconds`);
  return Number(seconds);
};

(documents === null ? describe.skip : describe)(`docker-compose.yml${NO_YAML}`, () => {
  const [{ services }] = (documents ?? [{ services: {} }]) as [{ services: Readonly<Record<string, Service>> }];

  /** When a container that never was healthy is called unhealthy, seconds after its start; null: it is not asked. */
  const patienceOf = (name: string): number | null => {
    const check = services[name]?.healthcheck;
    if (check === undefined) return null;
    return secondsOf(check.start_period) + check.retries * secondsOf(check.interval);
  };

  test("gives each service longer to become healthy than those that it waits for", () => {
    const pairs = Object.entries(services).flatMap(([name, { depends_on: before = [] }]) => {
      const others = Array.isArray(before) ? (before as readonly string[]) : Object.keys(before);
      return others.map((other) => ({ name, own: patienceOf(name), other, its: patienceOf(other) }));
    });
    const compared = pairs.filter(({ own, its }) => own !== null && its !== null);
    expect(compared.filter(({ own, its }) => (own ?? 0) <= (its ?? 0))).toEqual([]);
    expect(compared.map(({ name, other }) => `${name} after ${other}`)).toEqual(
      expect.arrayContaining(["gateway after n1-api", "n1-api after n1-control", "n3-control after n3-postgres"]),
    );
  });
});
