import { expect, test } from "@jest/globals";
import { PeerAddresses } from "../../src/transport/peer-addresses.ts";
import { StepClock } from "../doubles.ts";

test("the addresses of peers are those of their hosts, looked up again every half minute", async () => {
  const clock = new StepClock();
  const names = new Map([["n2.example", ["10.0.0.2", "fd00::2"]]]);
  const asked: string[] = [];
  const addresses = new PeerAddresses(clock, async (host) => {
    asked.push(host);
    const found = names.get(host);
    if (found === undefined) throw new Error(`no address of ${host}`);
    return found;
  });
  await addresses.setHosts(["n2.example", "n3.example", "10.0.0.4"]);
  const known = (): readonly boolean[] =>
    ["10.0.0.2", "::ffff:10.0.0.2", "fd00::2", "10.0.0.3", "10.0.0.4"].map((address) => addresses.has(address));
  expect(known()).toEqual([true, true, true, false, true]);
  names.set("n3.example", ["10.0.0.3"]);
  names.delete("n2.example");
  await addresses.refresh();
  expect(asked).toHaveLength(2);
  clock.advance(30_000);
  await addresses.refresh();
  // A name that cannot be looked up now keeps what it had.
  expect(known()).toEqual([true, true, true, true, true]);
  await addresses.setHosts(["n3.example"]);
  expect(known()).toEqual([false, false, false, true, false]);
});

test("an address from which a node has proved itself is a peer's, among the newest 64", async () => {
  const addresses = new PeerAddresses(new StepClock());
  addresses.prove("::ffff:192.0.2.1");
  expect(addresses.has("192.0.2.1")).toBe(true);
  for (let at = 0; at < 64; at++) addresses.prove(`198.51.100.${at}`);
  expect([addresses.has("192.0.2.1"), addresses.has("198.51.100.0")]).toEqual([false, true]);
});
