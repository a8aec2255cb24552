/**
 * CPU of one Ed25519 signature: signed, and verified on the event loop, in the thread pool with an answer for each, and
 * in the verifying thread with an answer for each job. Run after `npm run build`:
 *
 *   node packages/node-crypto/bench/verify.js
 *
 * The ways are measured in turns. The CPU is that of all threads of the process, the kernel's part included.
 */
import { VerifierThread, createSigner, generateSeed, nodeCrypto, verifyAsync } from "../dist/index.js";

const ROUNDS = 15;
const SIGNERS = Array.from({ length: 64 }, () => createSigner(generateSeed()));
const thread = new VerifierThread();

/** Two signatures a claim, as in an entry of so many claims. */
function signaturesOf(claims) {
  return Array.from({ length: 2 * claims }, (_, at) => {
    const signer = SIGNERS[at % SIGNERS.length];
    const message = Uint8Array.from({ length: 250 }, (_each, offset) => (at * 7 + offset) & 0xff);
    return { publicKey: signer.publicKey, message, signature: signer.sign(message) };
  });
}

const WAYS = {
  signed: async (job) => {
    for (const [at, { message }] of job.entries()) SIGNERS[at % SIGNERS.length].sign(message);
  },
  "event loop": async (job) => {
    for (const { publicKey, message, signature } of job) nodeCrypto.ed25519Verify(publicKey, message, signature);
  },
  "thread pool": (job) => Promise.all(job.map((each) => verifyAsync(each.publicKey, each.message, each.signature))),
  "verifying thread": (job) => thread.verify(job),
};

for (const claims of [1, 16, 64]) {
  const job = signaturesOf(claims);
  const repeats = Math.ceil(256 / job.length);
  const taken = new Map(Object.keys(WAYS).map((name) => [name, []]));
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const [name, way] of Object.entries(WAYS)) {
      const before = process.cpuUsage();
      const switchesBefore = process.resourceUsage().voluntaryContextSwitches;
      const loopBefore = performance.eventLoopUtilization();
      for (let repeat = 0; repeat < repeats; repeat += 1) await way(job);
      const { user, system } = process.cpuUsage(before);
      const count = repeats * job.length;
      taken.get(name).push({
        cpu: (user + system) / count,
        loop: (performance.eventLoopUtilization(loopBefore).active * 1000) / count,
        switches: (process.resourceUsage().voluntaryContextSwitches - switchesBefore) / count,
      });
    }
  }
  for (const [name, values] of taken) {
    const typical = (field) => values.map((value) => value[field]).sort((a, b) => a - b)[Math.floor(ROUNDS / 4)];
    const [cpu, loop, switches] = ["cpu", "loop", "switches"].map((field) => typical(field).toFixed(2));
    console.log(
      `${claims} claims, ${name}: ${cpu} µs of CPU, ${loop} µs of event loop, ${switches} switches a signature`,
    );
  }
}
await thread.close();
