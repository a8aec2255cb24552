/**
 * A replicated key-value store: three processes, of which any two are enough. What was answered survives `kill -9`.
 *
 *   node kv-store.js 1 & node kv-store.js 2 & node kv-store.js 3 &
 *   curl --location --request PUT --data hello http://127.0.0.1:8001/greeting
 *   curl --location http://127.0.0.1:8002/greeting
 *
 * Node n listens on 127.0.0.1, port 8000 + n (KV_PORT changes the 8000), for clients and for its peers, which post
 * messages to it. It keeps its log in kv-<n>.jsonl.
 */
import { existsSync, fdatasyncSync, openSync, readFileSync, truncateSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import { buffer } from "node:stream/consumers";
import { RaftEngine, decodeMessage, encodeMessage } from "raft-ts";

const id = BigInt(process.argv[2] ?? "");
const portOf = (node) => Number(process.env.KV_PORT ?? 8000) + Number(node);
const urlOf = (node, path) => `http://127.0.0.1:${portOf(node)}${path}`;
const path = `kv-${id}.jsonl`;
const confState = { voters: [1n, 2n, 3n], votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };

// What the file holds: a line for each chore of the append lane. A last line without its end was never answered.
const log = [];
let hardState = { term: 0, vote: 0n, commit: 0 };
const kept = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
const whole = kept.lastIndexOf("\n") + 1;
if (whole < kept.length) truncateSync(path, whole);
for (const line of kept.subarray(0, whole).toString().split("\n").filter(Boolean)) {
  const { entries, state } = JSON.parse(line);
  hold(entries.map((entry) => ({ ...entry, payload: Buffer.from(entry.payload, "base64") })));
  if (state !== null) hardState = { ...state, vote: BigInt(state.vote) };
}
const file = openSync(path, "a");

/** A new end of the log; what was there from its first index on is gone. */
function hold(entries) {
  if (entries.length > 0) log.splice(entries[0].index - 1, Infinity, ...entries);
}

const engine = await RaftEngine.load();
const random = (bytes) => crypto.getRandomValues(bytes);
const initial = { hardState, confState, snapshot: null, entries: log, applied: 0 };
const node = engine.createNode({ id, initial, random });

const values = new Map();
const writes = new Map(); // by the index of their entry: what the client waits for
const reads = new Map(); // by context: what to do once `index` is applied
let applied = 0;

/** Does what there is to do: sends, stores, applies. */
function work() {
  while (node.hasReady()) {
    const { messages, append, apply, readStates, softState } = node.ready();
    if (append !== null) hold(append.entries); // a message may have them before they are durable
    messages.forEach(send);
    if (append !== null) store(append);
    if (apply !== null) applyEntries(apply);
    for (const { index, context } of readStates) {
      const read = reads.get(Buffer.from(context).toString());
      if (read !== undefined) read.index = index;
    }
    if (softState !== null && softState.role !== "leader") {
      // Without the office it cannot know what becomes of them.
      for (const write of writes.values()) write(null);
      for (const { say } of reads.values()) say(503, "leads no more");
      writes.clear();
      reads.clear();
    }
  }
  for (const [context, { index, key, say }] of reads) {
    if (index > applied) continue;
    say(values.has(key) ? 200 : 404, values.get(key) ?? "no such key");
    reads.delete(context);
  }
}

function store({ entries, hardState: state, responses }) {
  const texts = entries.map((entry) => ({ ...entry, payload: Buffer.from(entry.payload).toString("base64") }));
  const line = { entries: texts, state: state === null ? null : { ...state, vote: `${state.vote}` } };
  writeSync(file, `${JSON.stringify(line)}\n`);
  fdatasyncSync(file); // durable, before anybody is told
  if (entries.length > 0) node.mirrorAppend(entries);
  if (state !== null) node.mirrorHardState(state);
  for (const message of responses) {
    if (message.to === id) node.stepResponses([message]);
    else send(message);
  }
}

function applyEntries({ entries, responses }) {
  for (const { index, term } of entries) {
    const { payload } = log[index - 1];
    if (payload.length > 0) values.set(...JSON.parse(payload.toString()));
    applied = index;
    writes.get(index)?.(term);
    writes.delete(index);
  }
  node.stepResponses(responses);
}

/** Messages may be lost, doubled and overtaken: each is a request of its own. */
function send(message) {
  const entries = message.entries.map((entry) => ({ ...entry, payload: log[entry.index - 1].payload }));
  const request = { method: "POST", body: encodeMessage({ ...message, entries }) };
  fetch(urlOf(message.to, "/"), request).catch(() => node.reportUnreachable(message.to));
}

// Peers post messages; who does not lead sends clients to the node that does.
createServer((request, response) => {
  const say = (status, text, headers = {}) => response.writeHead(status, headers).end(`${text}\n`);
  const whenCut = () => response.destroy();
  void buffer(request).then((body) => {
    try {
      answer(request, body, say);
    } catch (error) {
      say(error.code === "proposal_dropped" ? 503 : 400, error.message); // full for now, or what no peer sends
    }
    work();
  }, whenCut);
}).listen(portOf(id), "127.0.0.1");

function answer({ method, url }, body, say) {
  const { lead } = node.basicStatus();
  if (method === "POST") {
    node.step(decodeMessage(body));
    say(200, "taken");
  } else if (lead === 0n) {
    say(503, "no leader is known");
  } else if (lead !== id) {
    say(307, "another node leads", { location: urlOf(lead, url) });
  } else if (method === "PUT") {
    const { index, term } = node.propose(Buffer.from(JSON.stringify([url, body.toString()])));
    writes.set(index, (decided) => (decided === term ? say(200, "stored") : say(503, "unknown: read it")));
  } else {
    const context = crypto.randomUUID();
    reads.set(context, { index: Infinity, key: url, say });
    node.readIndex(Buffer.from(context));
  }
}

setInterval(() => {
  node.tick();
  work();
}, 100);
