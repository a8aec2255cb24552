/**
 * Two nodes on loopback, mutual TLS 1.3, one process: round trip of a 300-byte frame on the control lane, frames per
 * second, and the same round trip while the bulk lane is full. Run after `tsc -b`: node …/bench/loopback.js
 */
import { randomBytes, randomFillSync } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSigner, generateSeed } from "../../../../node-crypto/dist/index.js";
import { createCertificateAuthority, issueCertificate } from "../../../../provision/dist/index.js";
import { createPeerNetwork } from "../../../dist/transport/index.js";

const clusterId = Uint8Array.from(randomBytes(32));
const signers = new Map(["a", "b"].map((nodeId) => [nodeId, createSigner(generateSeed())]));
const dir = await mkdtemp(join(tmpdir(), "transport-bench-"));
const authority = await createCertificateAuthority("bench", Date.now());
const silent = () => undefined;
const environment = {
  clock: {
    wallMs: () => Date.now(),
    monotonicMs: () => performance.now(),
    startTimer: (delayMs, action) => {
      const timer = setTimeout(() => action(), delayMs);
      return { cancel: () => clearTimeout(timer) };
    },
    afterTurn: (action) => setImmediate(() => action()),
  },
  random: { fill: (bytes) => randomFillSync(bytes) },
  logger: { debug: silent, info: silent, warn: silent, error: silent },
};

async function start(nodeId, onFrame) {
  const issued = await issueCertificate(authority, { role: "node", clusterId, id: nodeId }, 86_400_000, Date.now());
  const tls = {
    caFile: join(dir, "ca"),
    certificateFile: join(dir, `${nodeId}.crt`),
    keyFile: join(dir, `${nodeId}.key`),
  };
  await writeFile(tls.caFile, authority.certificatePem, { mode: 0o600 });
  await writeFile(tls.certificateFile, issued.certificatePem, { mode: 0o600 });
  await writeFile(tls.keyFile, issued.privateKeyPem, { mode: 0o600 });
  const hello = () => ({
    nodeId,
    clusterId,
    incarnation: 1,
    lastIndex: 0,
    lastTerm: 0,
    signed: [],
    trustRootVersion: 1,
    rulesMax: 1,
    nonce: Uint8Array.from(randomBytes(16)),
  });
  const network = createPeerNetwork({
    self: { nodeId, clusterId, authSigner: signers.get(nodeId), incarnation: 1 },
    tls,
    listen: { host: "127.0.0.1", port: 0 },
    peers: [],
    hello,
    judgeHello: () => ({ accepted: true }),
    onHelloRefused: silent,
    authKeyOf: (id) => signers.get(id)?.publicKey ?? null,
    trustRootChain: () => [],
    trustRootVersion: () => 1,
    caSpkiPins: () => [authority.spkiSha256],
    onFrame,
    onPeerUp: silent,
    onPeerDown: silent,
    unary: {},
    environment,
  });
  await network.start();
  return network;
}

let onA = silent;
let onB = silent;
const a = await start("a", (_from, lane, frame) => onA(lane, frame));
const b = await start("b", (_from, lane, frame) => onB(lane, frame));
a.setPeers([{ nodeId: "b", ...b.address() }]);
b.setPeers([{ nodeId: "a", ...a.address() }]);
while (!a.isConnected("b") || !b.isConnected("a")) await new Promise(setImmediate);

const small = { type: "raft", message: new Uint8Array(299) };
const large = { type: "raft", message: new Uint8Array(1024 * 1024) };

/** Milliseconds of each round trip, ascending. */
async function roundTrips(count) {
  const took = [];
  onB = (lane) => void (lane === "control" && b.send("a", "control", small));
  for (let round = 0; round < count; round++) {
    const began = performance.now();
    await new Promise((resolve) => {
      onA = resolve;
      a.send("b", "control", small);
    });
    took.push(performance.now() - began);
  }
  return took.toSorted((x, y) => x - y);
}

function quantiles(took) {
  const at = (share) => took[Math.floor(took.length * share)].toFixed(3);
  return `p50 ${at(0.5)} ms, p99 ${at(0.99)} ms`;
}

async function framesPerSecond(total, perTurn) {
  let received = 0;
  const began = performance.now();
  await new Promise((resolve) => {
    onB = () => void (++received === total && resolve());
    let sent = 0;
    const turn = () => {
      for (let count = 0; count < perTurn && sent < total && a.send("b", "control", small); count++) sent++;
      if (sent < total) setImmediate(turn);
    };
    turn();
  });
  return Math.round(total / ((performance.now() - began) / 1000));
}

await roundTrips(2000);
console.log(`round trip, 300 bytes: ${quantiles(await roundTrips(10_000))}`);
console.log(`frames/s, 300 bytes, 64 a turn: ${await framesPerSecond(200_000, 64)}`);
console.log(`frames/s, 300 bytes, 1 a turn: ${await framesPerSecond(50_000, 1)}`);
const flood = setInterval(() => {
  for (let count = 0; count < 8 && a.send("b", "bulk", large); count++);
}, 2);
console.log(`round trip with the bulk lane full of 1 MiB frames: ${quantiles(await roundTrips(500))}`);
clearInterval(flood);
const bulk = a.counters().find(({ event, reason }) => event === "frame_sent" && reason === "bulk");
console.log(`bulk frames meanwhile: ${bulk?.value ?? 0}`);
await Promise.all([a.close(), b.close()]);
await rm(dir, { recursive: true });
