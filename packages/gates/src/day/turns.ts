/** What an operator does in a day, with the commands of `docs/operating`, while clients write. */
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Seeded } from "@event-anchoring/simulator";
import { until } from "@event-anchoring/testkit";
import { AnchoringClient, expectOk, served } from "@event-anchoring/testkit/clients";
import { isReady, nodeFiles } from "@event-anchoring/testkit/cluster";
import { SqlSession } from "@event-anchoring/testkit/postgres";
import type { TestCluster } from "@event-anchoring/testkit/cluster";
import type { Recorder } from "@event-anchoring/testkit/faults";
import { prepareNode, settingsOf, takeBackup } from "../anchorctl/backups.ts";
import { mustAnchorctl } from "../anchorctl/run-anchorctl.ts";
import { changeTrustRoot, mustRun, rotateNode, settleNode } from "../anchorctl/trust-root-changes.ts";

/** Databases are made and nodes elected on a machine that does other things too. */
const STEP_TIMEOUT_MS = 600_000;
const CHANGE_WAIT = "10m";
const LOOK_MS = 2000;
const LOG_LINES = 40;
/** A node that begins with nothing would take the log in place of a snapshot. */
const LOG_BEGINNING = { what: "has cut its log", text: "SELECT 1 FROM node.raft_log WHERE index = 1" };
/** Where a node has a client event id. */
const CLIENT_EVENT_ID = `SELECT 1 FROM node.raft_log WHERE position(convert_to($1, 'UTF8') IN payload) > 0
  UNION ALL SELECT 1 FROM state.anchors WHERE client_event_id = $1`;
/** For one call of an operator, in seconds. */
const CALL_TIMEOUT = ["--timeout", "120"];

export interface MadeKey {
  readonly apiKey: string;
  readonly keyId: string;
}

/** What the turns work on. */
export interface DayAtWork {
  readonly setup: TestCluster;
  readonly recorder: Recorder;
  readonly dice: Seeded;
  /** Those with which the cluster began, and with which it ends the day. */
  readonly nodeIds: readonly string[];
  /** The clients' key, with which they may erase what they wrote. */
  key: MadeKey;
  /** A node id is never used again. */
  nextNode: number;
  /** Ends the clients, and begins them anew with the key that is theirs now. */
  readonly changeClients: () => Promise<void>;
  /** Events whose client event id was erased. */
  readonly erased: { readonly clientEventId: string; readonly anchorId: string }[];
}

export interface Turn {
  readonly name: string;
  /** @throws if it does not do what it says */
  readonly run: (day: DayAtWork) => Promise<void>;
}

/** It makes processes young, which hides that they grow: only in the first half of a day. */
export const UPGRADE: Turn = { name: "rolling restarts", run: upgrade };
export const TURNS: readonly Turn[] = [
  { name: "nodes restored from a backup", run: restoredNode },
  { name: "nodes added, promoted and retired", run: addedNode },
  { name: "rotations of a node's keys", run: nodeKeys },
  { name: "erasures", run: erasures },
  { name: "rotations of an API key", run: apiKey },
];

/** The clients' first key. */
export async function firstKey(setup: TestCluster): Promise<MadeKey> {
  const scopes = ["--scopes", "read,write,revoke,admin", "--rate", "node"];
  return keyOf(await mustRun(setup, ["keys", "create", "--label", "day", ...scopes, ...CALL_TIMEOUT]));
}

function keyOf({ api_key: key, key_id: keyId }: Readonly<Record<string, unknown>>): MadeKey {
  if (typeof key !== "string" || typeof keyId !== "string") throw new Error("anchorctl made no API key");
  return { apiKey: key, keyId };
}

/** Each node in turn, the leader first: stopped as a supervisor stops it, and started again. */
async function upgrade({ setup, nodeIds }: DayAtWork): Promise<void> {
  const { id: leader } = await setup.leader();
  for (const id of [leader, ...nodeIds.filter((other) => other !== leader)]) {
    await setup.cluster.node(id).stopProcesses();
    setup.cluster.node(id).startProcesses();
    await untilReady(setup, nodeIds);
  }
}

/** A backup, verified; a node that begins with it, follows as a learner, and is retired. */
async function restoredNode(day: DayAtWork): Promise<void> {
  const { setup, dice, nodeIds } = day;
  const id = nextNodeOf(day);
  const backup = await takeBackup(setup, dice.pick(nodeIds), `${id}.backup`);
  const verified = await mustAnchorctl(["backup", "verify", backup, "--cluster", setup.cluster.root]);
  if (verified["valid"] !== true || verified["state_signed"] !== true) throw new Error(JSON.stringify(verified));
  await prepareNode(setup, id);
  await mustAnchorctl(["restore", "node", "--backup", backup, "--node", settingsOf(setup, id)]);
  rmSync(backup);
  setup.cluster.node(id).startProcesses();
  await changeTrustRoot(setup, ["--add-learner", setup.cluster.cardPath(id)], { wait: CHANGE_WAIT });
  await untilReady(setup, [id]);
  await retire(day, id, []);
}

/** A node that begins with nothing, installs a snapshot, votes as the fourth, and is retired. */
async function addedNode(day: DayAtWork): Promise<void> {
  const { setup, nodeIds } = day;
  const id = nextNodeOf(day);
  for (const other of nodeIds) await untilNoRow(setup, other, LOG_BEGINNING);
  await setup.cluster.addNode(id);
  await changeTrustRoot(setup, ["--add-learner", setup.cluster.cardPath(id)], { wait: CHANGE_WAIT });
  await untilReady(setup, [id]);
  const { controlPlaneLog } = nodeFiles(setup.cluster, id);
  const said = existsSync(controlPlaneLog) ? readFileSync(controlPlaneLog, "utf8") : "";
  if (!said.includes('"snapshot_installed"')) throw new Error(`${id} has installed no snapshot`);
  await changeTrustRoot(setup, ["--promote", id, "--quorum", "3"], { wait: CHANGE_WAIT });
  await retire(day, id, ["--quorum", "2"]);
}

async function retire({ setup }: DayAtWork, id: string, changes: readonly string[]): Promise<void> {
  await changeTrustRoot(setup, ["--retire", id, ...changes], { wait: CHANGE_WAIT });
  await setup.cluster.dropNode(id);
}

/** Why a turn may have failed, line by line: what each node says of itself, and the end of its control plane's log. */
export async function wordsOfNodes({ setup }: DayAtWork): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const { id, api_url: url } of setup.cluster.file.nodes) {
    lines.push(`${id}: ${await readinessOf(url)}`);
    const { controlPlaneLog } = nodeFiles(setup.cluster, id);
    const log = existsSync(controlPlaneLog) ? readFileSync(controlPlaneLog, "utf8").trim().split("\n") : [];
    lines.push(...log.slice(-LOG_LINES).map((line) => `${id}: ${line}`));
  }
  return lines;
}

async function readinessOf(apiUrl: string): Promise<string> {
  try {
    return await (await fetch(`${apiUrl}/readyz`, { signal: AbortSignal.timeout(LOOK_MS) })).text();
  } catch (error) {
    return `does not answer: ${String(error)}`;
  }
}

/** A turn that has failed may leave a node behind that was no node in the morning: it is stopped. */
export async function dropGuests({ setup, nodeIds }: DayAtWork): Promise<void> {
  const guests = setup.cluster.file.nodes.filter(({ id }) => !nodeIds.includes(id));
  for (const { id } of guests) await setup.cluster.dropNode(id);
}

async function nodeKeys({ setup, dice, nodeIds }: DayAtWork): Promise<void> {
  const id = dice.pick(nodeIds);
  const card = join(setup.cluster.root, "nodes", `${id}-rotated.card`);
  rmSync(card, { force: true });
  await rotateNode(setup, id, "auth,cosigner", card);
  await changeTrustRoot(setup, ["--new-keys", card], { wait: CHANGE_WAIT });
  const { replaced } = await settleNode(setup, id);
  if (!Array.isArray(replaced) || replaced.length !== 2) throw new Error(`${id} has replaced ${String(replaced)}`);
}

/** The clients have some of their client event ids erased: then no log and no table holds them. */
async function erasures({ setup, recorder, dice, nodeIds, key, erased }: DayAtWork): Promise<void> {
  const client = new AnchoringClient({ apiUrl: setup.entry(dice.pick(nodeIds)).api_url, apiKey: key.apiKey });
  try {
    const events = recorder.anchored.filter(({ kind }) => kind === "event");
    const known = new Set(erased.map(({ anchorId }) => anchorId));
    // The newest among them: its entry is the one that the log is cut behind.
    for (const { anchorId, clientEventId } of [dice.pick(events), dice.pick(events), events.at(-1)].flatMap(present)) {
      if (clientEventId === null || known.has(anchorId)) continue;
      known.add(anchorId);
      const { erased: isErased } = expectOk(await served(() => client.eraseClientEventId(anchorId)));
      if (!isErased) throw new Error(`the client event id of ${anchorId} was not there`);
      erased.push({ clientEventId, anchorId });
      const sought = { what: `has forgotten ${clientEventId}`, text: CLIENT_EVENT_ID, values: [clientEventId] };
      for (const id of nodeIds) await untilNoRow(setup, id, sought);
    }
  } finally {
    await client.close();
  }
}

function present<Item>(item: Item | undefined): readonly Item[] {
  return item === undefined ? [] : [item];
}

interface SoughtRows {
  /** What the node has done once they are gone. */
  readonly what: string;
  readonly text: string;
  readonly values?: readonly string[];
}

async function untilNoRow(setup: TestCluster, nodeId: string, { what, text, values }: SoughtRows): Promise<void> {
  const session = await SqlSession.open(nodeFiles(setup.cluster, nodeId).databaseUrl);
  try {
    const isGone = async (): Promise<boolean> => (await session.rows(text, values)).length === 0;
    await until(`${nodeId} ${what}`, isGone, STEP_TIMEOUT_MS);
  } finally {
    await session.close();
  }
}

/** The clients get another key while both are good; then the old one ends, and no node takes it. */
async function apiKey(day: DayAtWork): Promise<void> {
  const { setup, nodeIds, key: old } = day;
  day.key = keyOf(await mustRun(setup, ["keys", "rotate", old.keyId, "--overlap", "1h", ...CALL_TIMEOUT]));
  await day.changeClients();
  await mustRun(setup, ["keys", "revoke", old.keyId, ...CALL_TIMEOUT]);
  const headers = { authorization: `Bearer ${old.apiKey}` };
  // No anchor has this id: 404 with a good key.
  const isRefused = async (id: string): Promise<boolean> =>
    (await fetch(`${setup.entry(id).api_url}/v1/event-anchors/${randomUUID()}`, { headers })).status === 401;
  for (const id of nodeIds) await until(`${id} refuses the old key`, () => isRefused(id), STEP_TIMEOUT_MS);
}

/**
 * @param notices what the supervisor has said
 * @returns those about processes that ended by themselves; a node that was retired stops as it should
 */
export function unplannedEnds(notices: readonly string[], nodeIds: readonly string[]): readonly string[] {
  const isRetirement = (said: string): boolean =>
    said.includes(" control_plane: fenced, not started again: retired: ") &&
    !nodeIds.some((id) => said.startsWith(`${id} `));
  return notices.filter((said) => !isRetirement(said));
}

function nextNodeOf(day: DayAtWork): string {
  day.nextNode += 1;
  return `n${day.nextNode - 1}`;
}

async function untilReady(setup: TestCluster, nodeIds: readonly string[]): Promise<void> {
  for (const id of nodeIds) await until(`${id} is ready`, () => isReady(setup, id), STEP_TIMEOUT_MS);
}

/** @returns a line for each erased client event id that a node answers otherwise than that it was erased */
export async function wrongErasures({ setup, key, nodeIds, erased }: DayAtWork): Promise<readonly string[]> {
  const lines: string[] = [];
  for (const id of nodeIds) {
    const client = new AnchoringClient({ apiUrl: setup.entry(id).api_url, apiKey: key.apiKey });
    for (const { clientEventId, anchorId } of erased) {
      const { status, body } = await served(() => client.events({ client_event_id: clientEventId }));
      const isErased = status === 410 && "anchor_id" in body && body.anchor_id === anchorId;
      if (!isErased) lines.push(`${id} answers ${status} ${JSON.stringify(body)} for an erased id of ${anchorId}`);
    }
    await client.close();
  }
  return lines;
}
