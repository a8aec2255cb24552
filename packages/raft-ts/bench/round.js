/**
 * CPU and calls into the module per propose→commit round of three nodes in one engine, every message through the peer
 * codec, storage in memory and durable at once; and how long an engine takes to start. With another build's `dist`
 * folder, both are measured in turns, and compared. Run after `npx tsc -b packages/raft-ts`:
 *
 *   node packages/raft-ts/bench/round.js [rounds] [payload bytes] [another build's dist folder]
 */
import { resolve } from "node:path";

const rounds = Number(process.argv[2] ?? "5000");
const payloadBytes = Number(process.argv[3] ?? "64");
const another = process.argv[4];
const RUNS = 8;
/** Runs until the compilers have settled. */
const RUNS_WARM_UP = 2;
const noBytes = new Uint8Array(0);
const payload = new Uint8Array(payloadBytes).fill(7);

const ids = [1n, 2n, 3n];
const confState = { voters: ids, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
const initial = {
  hardState: { term: 0, vote: 0n, commit: 0 },
  confState,
  snapshot: null,
  entries: [],
  applied: 0,
};

let calls = 0;
countCalls();

const groups = [await createGroup("this build", "../dist/index.js")];
if (another !== undefined) groups.push(await createGroup("another build", resolve(another, "index.js")));
for (let run = -RUNS_WARM_UP; run < RUNS; run += 1) for (const group of groups) measure(group, run >= 0);
for (const group of groups) describe(group);
if (groups.length === 2) {
  const [here, there] = groups.map(medianOf);
  console.log(`this build takes ${(here / there).toFixed(3)} of the time of another build`);
}

/** Every call of an export of every module that starts from now on. */
function countCalls() {
  const instantiate = WebAssembly.instantiate;
  WebAssembly.instantiate = async (...given) => {
    const { exports } = await instantiate.call(WebAssembly, ...given);
    const counted = Object.entries(exports).map(([name, value]) => {
      if (typeof value !== "function") return [name, value];
      const counting = (...args) => {
        calls += 1;
        return value(...args);
      };
      return [name, counting];
    });
    return { exports: Object.fromEntries(counted) };
  };
}

async function createGroup(name, path) {
  const raft = await import(path);
  const from = performance.now();
  const engine = await raft.RaftEngine.load();
  const firstMs = performance.now() - from;
  await raft.RaftEngine.load();
  const nextMs = performance.now() - from - firstMs;
  const members = new Map(ids.map((id) => [id, createMember(engine, id)]));
  const group = { name, raft, engine, members, firstMs, nextMs, network: [], messages: 0, calls: 0, microseconds: [] };
  group.leader = members.get(1n).node;
  group.leader.campaign();
  settle(group);
  return group;
}

function measure(group, isKept) {
  const from = process.cpuUsage();
  const callsBefore = calls;
  group.messages = 0;
  for (let round = 0; round < rounds; round += 1) {
    group.leader.propose(payload);
    settle(group);
  }
  const { user, system } = process.cpuUsage(from);
  group.calls = calls - callsBefore;
  if (isKept) group.microseconds.push((user + system) / rounds);
}

function describe(group) {
  const { name, engine, firstMs, nextMs, messages, microseconds } = group;
  const each = microseconds.map((figure) => figure.toFixed(0)).join(" ");
  console.log(`${name}: first start ${firstMs.toFixed(0)} ms with compilation, next ${nextMs.toFixed(0)} ms`);
  console.log(`  ${medianOf(group).toFixed(0)} µs of CPU per round of ${payloadBytes} bytes (${each})`);
  console.log(`  ${messages / rounds} messages and ${group.calls / rounds} calls per round`);
  console.log(`  memory of the engine: ${(engine.memoryBytes / 2 ** 20).toFixed(1)} MiB`);
}

function medianOf({ microseconds }) {
  return microseconds.toSorted((left, right) => left - right)[Math.floor(microseconds.length / 2)];
}

function createMember(engine, id) {
  let state = Number(id);
  const random = (bytes) => {
    for (let i = 0; i < bytes.length; i += 1) {
      state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fff_ffff;
      bytes[i] = state >> 16;
    }
  };
  return { node: engine.createNode({ id, initial, random }), payloads: new Map() };
}

function settle(group) {
  const { members, raft } = group;
  for (;;) {
    for (const member of members.values()) while (member.node.hasReady()) handle(group, member);
    if (group.network.length === 0) return;
    const arriving = group.network;
    group.network = [];
    for (const bytes of arriving) {
      const message = raft.decodeMessage(bytes);
      const { node } = members.get(message.to);
      // As the control plane judges each message.
      node.basicStatus();
      for (const { index } of message.entries) node.termAt(index);
      node.step(message);
    }
  }
}

function handle(group, member) {
  const { append, apply, messages: outgoing } = member.node.ready();
  for (const entry of append?.entries ?? []) member.payloads.set(entry.index, entry.payload);
  send(group, member, outgoing);
  if (append !== null) {
    if (append.entries.length > 0) member.node.mirrorAppend(append.entries);
    if (append.hardState !== null) member.node.mirrorHardState(append.hardState);
    send(group, member, append.responses);
  }
  if (apply !== null) send(group, member, apply.responses);
}

function send(group, member, messages) {
  const isOwn = ({ to }) => to === member.node.id;
  const responses = messages.filter(isOwn);
  if (responses.length > 0) member.node.stepResponses(responses);
  for (const message of messages) if (!isOwn(message)) sendToPeer(group, member, message);
}

function sendToPeer(group, member, message) {
  group.messages += 1;
  const entries = message.entries.map(({ index, term, type, payload: bytes }) => ({
    index,
    term,
    type,
    payload: bytes ?? member.payloads.get(index) ?? noBytes,
  }));
  group.network.push(group.raft.encodeMessage({ ...message, entries }));
}
