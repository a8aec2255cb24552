import { createHash } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { commandsOf, inlineCommandsOf, makeDesk, shell } from "./desk.ts";
import { DockerEngine, hasBuildKit, missingForCompose } from "./docker-engine.ts";

// What an operator types on a cluster of Compose, command by command: "With Compose" of kept-backups.md, backup.md and
// restore.md in docs/operating, then first-day.md. A cluster is written to, backed up twice, lost, and restored as
// another, on which the first day begins.

const missing = missingForCompose() ?? (hasBuildKit() ? null : "no Compose 2 with buildx here");
const describeWithDocker = missing === null ? describe : describe.skip;
const MINUTES = 60_000;
const PROJECT = `anchoring-backup-${process.pid}`;

let engine: DockerEngine;
let folder: string;
let desk: string;
let apiKey: string;

const type = (script: string): string => shell(engine, desk, script).stdout;
const curl = (path: string, more = ""): string => {
  const trusted = "--cacert deploy/.anchoring/gateway/ca.crt";
  return type(`curl -sS ${trusted} -H 'Authorization: Bearer ${apiKey}' ${more} https://localhost:8443${path}`);
};

beforeAll(async () => {
  if (missing !== null) return;
  engine = await DockerEngine.start();
  folder = mkdtempSync(join(tmpdir(), "anchoring-backup-"));
  desk = join(folder, "desk");
  makeDesk(engine, desk);
  appendFileSync(join(desk, ".env"), `COMPOSE_PROJECT_NAME=${PROJECT}\n`);
  type("docker compose up --detach --wait");
  apiKey = type("docker compose run --rm -T anchorctl keys create").trim();
}, 20 * MINUTES);

afterAll(async () => {
  if (missing !== null) return;
  for (const project of [PROJECT, "restored"])
    engine.run("docker", ["compose", "--project-name", project, "down", "--volumes", "--timeout", "5"], {}, desk);
  await engine.stop();
  rmSync(folder, { recursive: true, force: true });
}, 10 * MINUTES);

/** @returns the id of the event's anchor */
async function anchor(name: string): Promise<string> {
  return until(
    "the event is anchored",
    () => {
      const { origin_fingerprint: origin } = JSON.parse(curl("/healthz")) as { origin_fingerprint: string };
      const hash = createHash("sha256").update(name).digest("hex");
      const body = JSON.stringify({ origin_fingerprint: origin, event_hash: hash, client_event_id: name });
      const answer = curl("/v1/event-anchors", `-H 'Content-Type: application/json' -d '${body}'`);
      return (JSON.parse(answer) as { anchor?: { anchor_id: string } }).anchor?.anchor_id ?? null;
    },
    MINUTES,
  );
}

const KEPT_BACKUPS = "docs/operating/kept-backups.md";

describeWithDocker(`kept backups with Compose${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test(
    "are made by a sidecar, and drilled, by the commands of the page",
    async () => {
      await anchor("before the first kept backup");
      const [keys = "", ...otherKeys] = commandsOf(KEPT_BACKUPS, "## Keys first");
      const [keep = "", drill = "", ...others] = commandsOf(KEPT_BACKUPS, "## With Compose");
      expect([otherKeys, others]).toEqual([[], []]);
      type(keys);
      type(keep);
      const logs = keep.split("\n").find((line) => line.startsWith("docker compose logs")) ?? "";
      await until("the sidecar has made one", () => /kept +\S+-n1\.backup\.zst\.age/u.test(type(logs)), MINUTES);
      const files = readdirSync(join(desk, "backups"));
      expect(files.filter((name) => name.endsWith("-n1.backup.zst.age"))).toHaveLength(1);
      expect(type(drill)).toMatch(/^Sound: \S+-n1\.backup\.zst\.age can be restored\.$/mu);
      const left = type("docker compose --profile drill ps --all --services");
      expect(left).not.toMatch(/drill/u);
    },
    20 * MINUTES,
  );
});

describeWithDocker(`backup and restore with Compose${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test(
    "bring a lost cluster back by the commands of the pages, with its anchors and its keys",
    async () => {
      const id = await anchor("before the backup");
      const [backup = "", ...otherBackups] = commandsOf("docs/operating/backup.md", "## With Compose");
      expect(otherBackups).toEqual([]);
      expect(type(backup)).toContain("Sound.");
      const restore = commandsOf("docs/operating/restore.md", "### With Compose");
      expect(restore).toHaveLength(4);
      const [lose = "", prepare = "", plan = "", start = ""] = restore;
      type(lose);
      type(prepare);
      // Whoever signs compares the RootTHK and types the version; here the proposal is asked for it.
      const planned = type(
        plan.replace(/(restore plan [\s\S]*?--out next)/u, "$1 --json").replaceAll(/^npx.*root sign.*$/gmu, ""),
      );
      const rootThk = /"root_thk": *"([0-9a-f]{64})"/u.exec(planned)?.[1] ?? "";
      expect(rootThk).not.toBe("");
      for (const [line] of plan.matchAll(/^npx.*root sign.*$/gmu)) type(`${line} --expect ${rootThk}`);
      expect(type(start)).toContain("All nodes are ready");
      const { anchor: found } = JSON.parse(curl(`/v1/event-anchors/${id}`)) as { anchor: { anchor_id: string } };
      expect(found.anchor_id).toBe(id);
      expect(await anchor("after the restore")).not.toBe(id);
      expect(readFileSync(join(desk, ".env"), "utf8")).toContain("ANCHORING_N1=n4");
    },
    30 * MINUTES,
  );
});

const FIRST_DAY = "docs/operating/first-day.md";

/** The lines of the only block of commands below a heading of that page. */
function linesOf(heading: string): readonly string[] {
  const [block = "", ...others] = commandsOf(FIRST_DAY, heading);
  expect(others).toEqual([]);
  return block.trim().split("\n");
}

/** The gateway may not listen yet. */
const untilReady = (): Promise<unknown> => {
  const ask = "curl -s --cacert deploy/.anchoring/gateway/ca.crt https://localhost:8443/readyz || true";
  return until("a node is ready", () => type(ask).includes('"ready":true'), MINUTES);
};

describeWithDocker(`the first day with Compose${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test(
    "finds a cluster that is well",
    () => {
      const [containers = "", status = "", ready = "", ...others] = linesOf("## Is it well?");
      expect(others).toEqual([]);
      const [, ...rows] = type(containers).trim().split("\n");
      expect(rows).toHaveLength(10);
      for (const row of rows) expect(row).toContain("(healthy)");
      expect(type(status)).toContain("All nodes are ready");
      expect(JSON.parse(type(ready))).toMatchObject({ ready: true });
      const [logs = "", restart = ""] = inlineCommandsOf(FIRST_DAY, "## A container that is not healthy");
      expect(type(logs)).toContain("n1-control");
      expect(restart).toBe("docker compose restart n1-control");
    },
    5 * MINUTES,
  );

  test(
    "makes, lists, rotates and revokes an API key",
    () => {
      const [create = "", list = "", rotate = "", revoke = "", ...others] = linesOf("## API keys");
      expect(others).toEqual([]);
      const rows = (): readonly string[] =>
        type(list)
          .split("\n")
          .filter((row) => row.includes("build farm"));
      expect(type(create)).toMatch(/^ank_[A-Za-z0-9]+\n$/u);
      const [made = "", ...more] = rows();
      expect(more).toEqual([]);
      const [keyId = ""] = /^[0-9a-f]{32}/u.exec(made) ?? [];
      expect(type(rotate.replace("<key id>", keyId))).toMatch(/^ank_[A-Za-z0-9]+\n$/u);
      expect(type(revoke.replace("<key id>", keyId))).toContain(`Key ${keyId} is revoked.`);
      expect(rows()).toHaveLength(2);
      expect(rows().find((row) => row.startsWith(keyId))).toContain("revoked");
    },
    5 * MINUTES,
  );

  test(
    "gives the trust root another year",
    () => {
      const [fetch = "", propose = "", submit = "", ...others] = linesOf("## The trust root");
      expect(others).toEqual([]);
      type(fetch);
      const { root_thk: rootThk, version } = JSON.parse(type(`${propose} --json`)) as {
        root_thk: string;
        version: number;
      };
      for (const holder of ["root-1", "root-2"])
        type(
          `npx --no anchorctl root sign deploy/.anchoring/next --cluster deploy/.anchoring ` +
            `--key deploy/.anchoring/root-keys/${holder}.seed --expect ${rootThk}`,
        );
      // It is brought back to whoever keeps the folder.
      type('chown "$(stat -c %u deploy/.anchoring)" deploy/.anchoring/next');
      expect(type(submit)).toMatch(new RegExp(`Version ${version} \\S.*, RootTHK ${rootThk}`, "u"));
    },
    5 * MINUTES,
  );
});

describeWithDocker(`later that day${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test(
    "Prometheus and Grafana watch it",
    async () => {
      const [watch = "", ...others] = linesOf("## Watch it");
      expect(others).toEqual([]);
      type(watch);
      const seen = async (): Promise<boolean> => {
        // Not listening yet: asked again.
        const answer = await fetch("http://127.0.0.1:9090/api/v1/rules").catch(() => null);
        return answer !== null && answer.ok && (await answer.text()).includes("AnchoringPrimeRootThkSyncError");
      };
      await until("Prometheus has the rules", seen, MINUTES);
      expect((await fetch("http://127.0.0.1:3000/")).status).toBe(200);
    },
    5 * MINUTES,
  );

  test(
    "stops and starts it, and restarts one node, by the words of the page",
    async () => {
      const [stop = "", start = "", erase = "", restart = "", ...others] = inlineCommandsOf(
        FIRST_DAY,
        "## Stop and start",
      );
      expect([stop, start, erase, restart, others]).toEqual([
        "docker compose stop",
        "docker compose start",
        "docker compose down --volumes",
        "docker compose restart n1-api n1-control",
        [],
      ]);
      const id = await anchor("before the stop");
      for (const command of [restart, stop, start]) type(command);
      await untilReady();
      expect(JSON.parse(curl(`/v1/event-anchors/${id}`))).toMatchObject({ anchor: { anchor_id: id } });
    },
    10 * MINUTES,
  );
});
