import { createHash } from "node:crypto";
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { commandsOf, makeDesk, shell } from "./desk.ts";
import { DockerEngine, hasBuildKit, missingForCompose } from "./docker-engine.ts";

// "With Compose" of docs/operating/backup.md and restore.md, command by command: a cluster is written to, backed up,
// lost, and restored as another one.

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
