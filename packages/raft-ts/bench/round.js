/**
 * CPU per propose→commit round of three nodes in one engine, every message through the peer codec, storage in memory
 * and durable at once; and how long an engine takes to start. Run after `npx tsc -b packages/raft-ts`:
 *
 *   node packages/raft-ts/bench/round.js [rounds] [payload bytes]
 */
import { RaftEngine, decodeMessage, encodeMessage } from "../dist/index.js";

const rounds = Number(process.argv[2] ?? "5000");
const payloadBytes = Number(process.argv[3] ?? "64");
const noBytes = new Uint8Array(0);

const ids = [1n, 2n, 3n];
const confState = { voters: ids, votersOutgoing: [], learners: [], learnersNext: [], autoLeave: false };
const initial = {
  hardState: { term: 0, vote: 0n, commit: 0 },
  confState,
  snapshot: null,
  entries: [],
  applied: 0,
};

const first = await timed(() => RaftEngine.load());
const second = await timed(() => RaftEngine.load());
console.log(`engine: first start ${first.ms.toFixed(0)} ms with compilation, next ${second.ms.toFixed(0)} ms`);

const members = new Map(ids.map((id) => [id, createMember(first.result, id)]));
let network = [];
let messages = 0;

members.get(1n).node.campaign();
settle();
const leader = members.get(1n).node;
const payload = new Uint8Array(payloadBytes).fill(7);
for (let run = 0; run < 6; run += 1) measure();
console.log(`memory of the engine: ${(first.result.memoryBytes / 2 ** 20).toFixed(1)} MiB`);

function measure() {
  const from = process.cpuUsage();
  messages = 0;
  for (let round = 0; round < rounds; round += 1) {
    leader.propose(payload);
    settle();
  }
  const { user, system } = process.cpuUsage(from);
  const perRound = ((user + system) / rounds).toFixed(0);
  console.log(`${perRound} µs of CPU per round, ${messages / rounds} messages, ${payloadBytes} bytes`);
}

async function timed(start) {
  const from = performance.now();
  const result = await start();
  return { result, ms: performance.now() - from };
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

function settle() {
  for (;;) {
    for (const member of members.values()) while (member.node.hasReady()) handle(member);
    if (network.length === 0) return;
    const arriving = network;
    network = [];
    for (const bytes of arriving) {
      const message = decodeMessage(bytes);
      members.get(message.to).node.step(message);
    }
  }
}

function handle(member) {
  const { append, apply, messages: outgoing } = member.node.ready();
  for (const entry of append?.entries ?? []) member.payloads.set(entry.index, entry.payload);
  for (const message of outgoing) send(member, message);
  if (append !== null) {
    if (append.entries.length > 0) member.node.mirrorAppend(append.entries);
    if (append.hardState !== null) member.node.mirrorHardState(append.hardState);
    for (const message of append.responses) send(member, message);
  }
  if (apply !== null) for (const message of apply.responses) send(member, message);
}

function send(member, message) {
  if (message.to === member.node.id) {
    member.node.stepResponse(message);
    return;
  }
  messages += 1;
  const entries = message.entries.map(({ index, term, type, payload: bytes }) => ({
    index,
    term,
    type,
    payload: bytes ?? member.payloads.get(index) ?? noBytes,
  }));
  network.push(encodeMessage({ ...message, entries }));
}
