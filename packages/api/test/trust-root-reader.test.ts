/** How the versions of the trust root are read: each is verified once, after the one that is held. */
import { expect, test } from "@jest/globals";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import type { Crypto, SignedTrustRoot } from "@event-anchoring/protocol";
import { ConsistentRead } from "../src/reading/consistent-read.ts";
import type { AnchorReads } from "../src/reading/node-reads.ts";
import { TrustRootReader } from "../src/reading/trust-root-reader.ts";
import { Deadline } from "../src/request/deadline.ts";
import { FakeCluster } from "./fake-cluster.ts";

const clock = { monotonicMs: () => performance.now(), wallMs: () => Date.now() };

/** A read to which this version is in force, of tables that hold these. */
function readOf(trustRootVersion: number, held: readonly SignedTrustRoot[]): ConsistentRead {
  const rows = held.map(({ trustRoot, rootThk, note }) => {
    return { version: trustRoot.version, rootThk, sequence: trustRoot.version, document: note };
  });
  const tables: Pick<AnchorReads, "trustRoots"> = { trustRoots: async () => ({ appliedIndex: 1, trustRoots: rows }) };
  const reads = { opened: async () => tables as AnchorReads };
  const ready = { readIndex: 1, certificates: [], trustRootVersion, latest: null };
  return ConsistentRead.from(ready, { reads }, new Deadline(clock, 5000));
}

/** Versions 1 to 3, and a reader that counts the signatures that it verifies. */
function prepared() {
  const cluster = new FakeCluster();
  for (const origin of cluster.origins.slice(0, 2)) cluster.succeed(origin, "closed");
  let verified = 0;
  const crypto: Crypto = {
    ...nodeCrypto,
    ed25519Verify: (...input) => {
      verified += 1;
      return nodeCrypto.ed25519Verify(...input);
    },
  };
  const verifications = (): number => {
    const count = verified;
    verified = 0;
    return count;
  };
  return {
    versions: cluster.trustRoots,
    reader: new TrustRootReader(crypto, cluster.trustRoot.rootThk),
    verifications,
  };
}

const numbers = ({ versions }: { readonly versions: readonly SignedTrustRoot[] }): readonly number[] =>
  versions.map(({ trustRoot }) => trustRoot.version);

test("a version is verified once, when it comes", async () => {
  const { versions, reader, verifications } = prepared();
  expect(numbers(await reader.chain(readOf(1, versions.slice(0, 1))))).toEqual([1]);
  expect(verifications()).toBe(1);
  expect(numbers(await reader.chain(readOf(3, versions)))).toEqual([1, 2, 3]);
  expect(verifications()).toBe(2);
  expect(numbers(await reader.chain(readOf(3, [])))).toEqual([1, 2, 3]);
  expect(verifications()).toBe(0);
});

test("two reads at a time, the older of which ends last, keep the longer chain", async () => {
  const { versions, reader } = prepared();
  const [long, short] = await Promise.all([
    reader.chain(readOf(3, versions)),
    reader.chain(readOf(2, versions.slice(0, 2))),
  ]);
  expect([numbers(long), numbers(short)]).toEqual([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  expect(numbers(await reader.chain(readOf(3, [])))).toEqual([1, 2, 3]);
});

test("a version that does not follow is refused with its place, and the chain stays as it was", async () => {
  const { versions, reader } = prepared();
  await reader.chain(readOf(1, versions.slice(0, 1)));
  const [first, , third] = versions;
  if (first === undefined || third === undefined) throw new Error("there are three versions");
  await expect(reader.chain(readOf(3, [first, third]))).rejects.toMatchObject({
    code: "unavailable",
    message: expect.stringMatching(/^trust root 1: /),
  });
  expect(numbers(await reader.chain(readOf(3, versions)))).toEqual([1, 2, 3]);
});

test("tables without any version are not initialised", async () => {
  const { reader } = prepared();
  await expect(reader.chain(readOf(1, []))).rejects.toMatchObject({ code: "not_initialised" });
});
