/**
 * A replicated key-value store: three processes, of which any two are enough. What was answered survives `kill -9`.
 *
 *   node kv-store.js 1 & node kv-store.js 2 & node kv-store.js 3 &
 *   curl --location --request PUT --data hello http://127.0.0.1:8001/greeting
 *   curl --location http://127.0.0.1:8002/greeting
 *
 * Node n listens on 127.0.0.1: port 8000 + n for clients, 9000 + n for its peers; KV_PORTS=<first of each> changes
 * both. It keeps its log in kv-<n>.jsonl.
 */
import { closeSync, existsSync, fdatasyncSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { connect, createServer as listen } from "node:net";
import { RaftEngine, decodeMessage, encodeMessage } from "raft-ts";

const id = BigInt(process.argv[2] ?? "");
const [clientPorts, peerPorts] = (process.env.KV_PORTS ?? "8000,9000").split(",").map(Number);
const path = `kv-${id}.jsonl`;
const ids = [1n, 2n, 3n];
const confState = { voters: ids, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

// What the file holds: a line for each chore of the append lane. A last line without its end was never answered.
const log = [];
let hardState = { term: 0, vote: 0n, commit: 0 };
const kept = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
const whole = kept.lastIndexOf(10) + 1;
if (whole < kept.length) truncateSync(path, whole);
for (const line of kept.subarray(0, whole).toString().split("\n").filter(Boolean)) {
  const { entries, state } = JSON.parse(line);
  hold(entries.map((entry) => ({ ...entry, payload: Buffer.from(entry.payload, "base64") })));
  if (state !== null) hardState = { ...state, vote: BigInt(state.vote) };
}
const file = openSync(path, "a");
process.once("exit", () => closeSync(file));

/** A new end of the log; what was there from its first index on is gone. */
function hold(entries) {
  if (entries.length > 0) log.length = entries[0].index - 1;
  log.push(...entries);
}

const engine = await RaftEngine.load();
const random = (bytes) => crypto.getRandomValues(bytes);
const initial = { hardState, confState, snapshot: null, entries: log, applied: 0 };
const node = engine.createNode({ id, initial, random });

const values = new Map();
const writes = new Map(); // by the index of their entry: what the client waits for
const reads = new Map(); // by context: what is done once `index` is applied
let applied = 0;

/** Does what there is to do: sends, stores, applies. */
function work() {
  while (node.hasReady()) {
    const { messages, append, apply, readStates, softState } = node.ready();
    if (append !== null) hold(append.entries); // a message may have them before they are durable
    for (const message of messages) send(message);
    if (append !== null) appendChore(append);
    if (apply !== null) applyChore(apply);
    for (const { index, context } of readStates) readAt(Buffer.from(context).toString(), index);
    // Who has lost the office cannot know what became of its writes.
    if (softState !== null && softState.role !== "leader") for (const write of writes.values()) write(null);
  }
  for (const [context, { index, answer }] of reads) if (index <= applied && reads.delete(context)) answer();
}

function appendChore({ entries, hardState: state, responses }) {
  const line = {
    entries: entries.map((entry) => ({ ...entry, payload: Buffer.from(entry.payload).toString("base64") })),
    state: state === null ? null : { ...state, vote: String(state.vote) },
  };
  writeSync(file, `${JSON.stringify(line)}\n`);
  fdatasyncSync(file); // durable, before anybody is told
  if (entries.length > 0) node.mirrorAppend(entries);
  if (state !== null) node.mirrorHardState(state);
  for (const message of responses) {
    if (message.to === id) node.stepResponses([message]);
    else send(message);
  }
}

function applyChore({ entries, responses }) {
  for (const { index, term } of entries) {
    const { payload } = log[index - 1];
    if (payload.length > 0) {
      const { key, value } = JSON.parse(payload.toString());
      values.set(key, value);
    }
    applied = index;
    writes.get(index)?.(term);
    writes.delete(index);
  }
  node.stepResponses(responses);
}

function readAt(context, index) {
  const read = reads.get(context);
  if (read !== undefined) read.index = index;
}

// Peers: messages of a length and as many bytes, over one connection to each.
const links = new Map();
function send(message) {
  const entries = message.entries.map((entry) => ({
    ...entry,
    payload: entry.payload ?? log[entry.index - 1].payload,
  }));
  const bytes = encodeMessage({ ...message, entries });
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  let link = links.get(message.to);
  if (link === undefined || link.destroyed) links.set(message.to, (link = connect(peerPorts + Number(message.to))));
  if (link.listenerCount("error") === 0) link.on("error", () => node.reportUnreachable(message.to));
  link.write(Buffer.concat([length, bytes]));
}

listen((socket) => {
  let rest = Buffer.alloc(0);
  socket.on("error", () => socket.destroy());
  socket.on("data", (chunk) => {
    rest = Buffer.concat([rest, chunk]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
      const end = 4 + rest.readUInt32BE();
      node.step(decodeMessage(rest.subarray(4, end)));
      rest = rest.subarray(end);
    }
    work();
  });
}).listen(peerPorts + Number(id), "127.0.0.1");

// Clients: who does not lead sends them to the node that does.
createServer((request, response) => {
  const chunks = [];
  request.on("data", (chunk) => chunks.push(chunk));
  request.on("end", () => {
    const { lead } = node.basicStatus();
    const say = (status, text, headers = {}) => response.writeHead(status, headers).end(`${text}\n`);
    if (lead === 0n) return say(503, "no leader is known");
    if (lead !== id) {
      const location = `http://127.0.0.1:${clientPorts + Number(lead)}${request.url}`;
      return say(307, "another node leads", { location });
    }
    const key = request.url.slice(1);
    if (request.method === "PUT") put(key, Buffer.concat(chunks).toString(), say);
    else get(key, say);
    work();
  });
}).listen(clientPorts + Number(id), "127.0.0.1");

function put(key, value, say) {
  const { index, term } = node.propose(Buffer.from(JSON.stringify({ key, value })));
  writes.set(index, (decided) => (decided === term ? say(200, "stored") : say(503, "unknown: read it")));
}

function get(key, say) {
  const context = crypto.randomUUID();
  const answer = () => (values.has(key) ? say(200, values.get(key)) : say(404, "no such key"));
  reads.set(context, { index: Infinity, answer });
  node.readIndex(Buffer.from(context));
}

setInterval(() => {
  node.tick();
  work();
}, 100);
