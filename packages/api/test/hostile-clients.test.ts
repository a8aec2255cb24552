import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { Connections } from "@event-anchoring/api";
import type { ConnectionRefusal } from "@event-anchoring/api";
import { until } from "@event-anchoring/testkit";
import { startHarness } from "./api-harness.ts";
import type { Harness } from "./api-harness.ts";

// Connections end, whatever the other side does, and nobody has all of them.

const GONE_MS_MAX = 30_000;
const EACH = 5;

interface Held {
  readonly socket: Socket;
  readonly what: string;
}

interface Way {
  readonly what: string;
  readonly bytes: string;
  /** Reads nothing of what comes. */
  readonly isDeaf?: boolean;
  /** Ends its own half at once. */
  readonly isHalf?: boolean;
}

const HEAD = "Host: x\r\nContent-Type: application/json\r\n";

/** `KEY` is replaced by a live key. */
const WAYS: readonly Way[] = [
  { what: "says nothing", bytes: "" },
  { what: "ends its half, and says nothing", bytes: "", isHalf: true },
  { what: "half a request line", bytes: "GET /heal" },
  { what: "half a head", bytes: "GET /healthz HTTP/1.1\r\nHo" },
  { what: "half a head, and ends its half", bytes: "GET /healthz HTTP/1.1\r\nHo", isHalf: true },
  { what: "CONNECT", bytes: "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n" },
  { what: "CONNECT, and reads nothing", bytes: "CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", isDeaf: true },
  { what: "no HTTP", bytes: "hello\r\n\r\n" },
  { what: "an odd target", bytes: "GET http://[::1/ HTTP/1.1\r\nHost: x\r\n\r\n" },
  { what: "a head that is too long", bytes: `GET / HTTP/1.1\r\nX: ${"a".repeat(9000)}\r\n\r\n` },
  { what: "a whole request, then nothing", bytes: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" },
  { what: "a whole request, then half of one", bytes: "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\nGET /he" },
  {
    what: "half a body",
    bytes: `POST /v1/event-anchors HTTP/1.1\r\n${HEAD}X-API-Key: KEY\r\nContent-Length: 99\r\n\r\n{`,
  },
  { what: "half a body without a key", bytes: `POST /v1/event-anchors HTTP/1.1\r\n${HEAD}Content-Length: 99\r\n\r\n{` },
  {
    what: "an answer of megabytes, again and again, and reads nothing",
    bytes: "GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n".repeat(8),
    isDeaf: true,
  },
];

/** Each in both ways: a target as the route has it is looked up, and with an empty query it is found by the router. */
const BOTH_WAYS: readonly Way[] = WAYS.flatMap((way) => {
  const routed = way.bytes.replaceAll(/(\S) HTTP\/1\.1/g, "$1? HTTP/1.1");
  return routed === way.bytes ? [way] : [way, { ...way, what: `${way.what}, routed`, bytes: routed }];
});

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness.close());

async function hold({ what, bytes, isDeaf, isHalf }: Way): Promise<Held> {
  // The client keeps its half open for ever.
  const socket = connect({ port: harness.port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => undefined);
  await once(socket, "connect");
  if (isDeaf === true) socket.pause();
  else socket.resume();
  if (bytes !== "") socket.write(bytes.replace("KEY", harness.key));
  if (isHalf === true) socket.end();
  return { socket, what };
}

test(
  "whatever they say, do not say, or do not read: 30 s later the node holds none of them",
  async () => {
    const held = await Promise.all(BOTH_WAYS.flatMap((way) => Array.from({ length: EACH }, () => hold(way))));
    const atMs = performance.now();
    try {
      await until("the node has let go of all", async () => (await harness.openConnections()) === 0, GONE_MS_MAX);
      expect(performance.now() - atMs).toBeLessThan(GONE_MS_MAX);
    } finally {
      for (const { socket } of held) socket.destroy();
    }
  },
  GONE_MS_MAX + 15_000,
);

/** A connection as the rules see it. */
class FakeSocket {
  isDestroyed = false;
  #onClose: (() => void) | null = null;
  once(_event: string, listener: () => void): this {
    this.#onClose = listener;
    return this;
  }
  destroy(): this {
    this.isDestroyed = true;
    return this;
  }
  close(): void {
    this.#onClose?.();
  }
}

describe("connections of one address", () => {
  function started(proxies: readonly string[] = []) {
    const refused: ConnectionRefusal[] = [];
    const connections = new Connections({ perAddressMax: 3, proxies }, (reason) => refused.push(reason));
    const from = (address: string): FakeSocket => {
      const socket = new FakeSocket();
      connections.take(socket as unknown as Socket, address);
      return socket;
    };
    const taken = (addresses: readonly string[]): boolean[] => addresses.map((address) => !from(address).isDestroyed);
    return { refused, from, taken };
  }

  const times = (count: number, address: string): string[] => Array.from({ length: count }, () => address);

  test("are few, and others are served all the same", () => {
    const { refused, taken } = started();
    expect(taken(times(5, "203.0.113.7"))).toEqual([true, true, true, false, false]);
    expect(taken(["203.0.113.8"])).toEqual([true]);
    expect(refused).toEqual(["address", "address"]);
  });

  test("are counted until they end", () => {
    const { from } = started();
    const [first] = times(3, "203.0.113.7").map(from);
    expect(from("203.0.113.7").isDestroyed).toBe(true);
    first?.close();
    expect(from("203.0.113.7").isDestroyed).toBe(false);
  });

  test("of IPv6 are those of its network of 64 bits, however it is written", () => {
    const { taken } = started();
    const same = ["2001:db8:0:1::1", "2001:db8:0:1::2", "2001:db8:0:1:a:b:c:d", "2001:db8::1:0:0:0:9"];
    expect(taken(same)).toEqual([true, true, true, false]);
    expect(taken(["2001:db8:0:2::1"])).toEqual([true]);
    expect(taken([...times(3, "::ffff:203.0.113.9"), "203.0.113.9"])).toEqual([true, true, true, false]);
  });

  test("may be many of loopback and of proxies, and never all there are", () => {
    const { taken, refused } = started(["10.0.0.0/8", "2001:db8:ffff::/48", "192.0.2.1"]);
    for (const address of ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", "10.1.2.3", "2001:db8:ffff::5"]) {
      expect(taken(times(10, address))).not.toContain(false);
    }
    expect(taken(times(10, "192.0.2.1"))).not.toContain(false);
    expect(taken(times(4, "192.0.2.2"))).toContain(false);
    expect(refused).toEqual(["address"]);
  });

  test("strangers leave a reserve for health checks, however many addresses they have", () => {
    const { taken, refused } = started();
    const strangers = Array.from({ length: 4096 }, (_, at) => `203.0.${at >> 8}.${at & 255}`);
    expect(taken(strangers).filter((isTaken) => isTaken)).toHaveLength(4096 - 64);
    expect(new Set(refused)).toEqual(new Set(["total"]));
    expect(taken(times(64, "127.0.0.1"))).not.toContain(false);
  });
});
