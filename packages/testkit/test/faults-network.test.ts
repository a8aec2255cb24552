import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { FaultNetwork } from "../src/faults/fault-network.ts";
import { until } from "../src/until.ts";

/** A listener that answers every chunk with itself, and remembers how its connections ended. */
class Echo {
  readonly server: Server;
  readonly heard: string[] = [];
  readonly ends: string[] = [];
  readonly sockets: Socket[] = [];

  constructor() {
    this.server = createServer((socket) => {
      this.sockets.push(socket);
      socket.on("data", (chunk) => {
        this.heard.push(chunk.toString("utf8"));
        socket.write(chunk);
      });
      socket.on("error", (error: NodeJS.ErrnoException) => this.ends.push(error.code ?? "error"));
      socket.on("end", () => this.ends.push("end"));
    });
  }

  async listen(port = 0): Promise<number> {
    await new Promise<void>((resolve) => this.server.listen(port, "127.0.0.1", () => resolve()));
    return (this.server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    if (this.server.listening) await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }
}

class Dialler {
  readonly socket: Socket;
  heard = "";
  end: string | null = null;

  constructor(address: { readonly host: string; readonly port: number }) {
    this.socket = connect(address);
    this.socket.on("data", (chunk) => (this.heard += chunk.toString("utf8")));
    this.socket.on("error", (error: NodeJS.ErrnoException) => (this.end = error.code ?? "error"));
    this.socket.on("end", () => (this.end ??= "end"));
  }
}

let network: FaultNetwork;
let echo: Echo;
let port: number;
let overheard: string[];
const diallers: Dialler[] = [];

beforeEach(async () => {
  overheard = [];
  network = await FaultNetwork.between(["n1", "n2", "n3"], (from, to) => ({
    dialler: (chunk) => overheard.push(`${from}>${to} ${Buffer.from(chunk).toString("utf8")}`),
    listener: (chunk) => overheard.push(`${to}>${from} ${Buffer.from(chunk).toString("utf8")}`),
  }));
  echo = new Echo();
  port = await echo.listen();
});

afterEach(async () => {
  for (const { socket } of diallers.splice(0)) socket.destroy();
  await network.close();
  await echo.close();
});

function dial(from = "n1", to = "n2"): Dialler {
  const dialler = new Dialler(network.dialledAddress(from, to, { host: "127.0.0.1", port }));
  diallers.push(dialler);
  return dialler;
}

/** What was said before has had the time to arrive, if it could: another connection came and went after it. */
async function othersPass(): Promise<void> {
  const other = dial("n3", "n2");
  other.socket.write("other");
  await until("another link carries", () => other.heard === "other");
}

describe("a link without faults", () => {
  test("carries both ways, and is overheard", async () => {
    const dialler = dial();
    dialler.socket.write("hello");
    await until("the echo is back", () => dialler.heard === "hello");
    expect(overheard).toEqual(["n1>n2 hello", "n2>n1 hello"]);
  });

  test("passes the end of either side on", async () => {
    const [left, dropped] = [dial(), dial()];
    left.socket.end("bye");
    await until("the listener sees the end", () => echo.ends.includes("end"));
    dropped.socket.write("x");
    await until("the other is there", () => dropped.heard === "x");
    for (const socket of echo.sockets) socket.end();
    await until("the dialler sees the end", () => dropped.end !== null);
    expect(dropped.end).toBe("end");
  });

  test("refuses connections while nobody listens behind it, and takes them again after", async () => {
    await echo.close();
    dial().socket.write("x");
    await until("it is refused, as it would be without a proxy", () => {
      const dialler = dial();
      return new Promise<boolean>((resolve) => {
        dialler.socket.once("error", (error: NodeJS.ErrnoException) => resolve(error.code === "ECONNREFUSED"));
        dialler.socket.once("connect", () => dialler.socket.write("x"));
      });
    });
    echo = new Echo();
    await echo.listen(port);
    await until("it carries", async () => {
      const dialler = dial();
      dialler.socket.write("again");
      await until("an end or an echo", () => dialler.end !== null || dialler.heard === "again");
      return dialler.heard === "again";
    });
    expect(echo.heard).toContain("again");
  });
});

describe("a link with faults", () => {
  test("one way lost: that way is held, on connections of both, and arrives late; the other way is open", async () => {
    const [onward, back] = [dial("n1", "n2"), dial("n2", "n1")];
    onward.socket.write("1");
    back.socket.write("1");
    await until("both are open", () => onward.heard === "1" && back.heard === "1");
    network.lose("n1", "n2");
    onward.socket.write("2");
    back.socket.write("2");
    await until("n2's word arrives", () => echo.heard.filter((said) => said === "2").length === 1);
    await othersPass();
    expect([onward.heard, back.heard]).toEqual(["1", "1"]);
    network.heal();
    await until("all arrives in the end", () => onward.heard === "12" && back.heard === "12");
  });

  test("a partition holds new connections too, and their ends", async () => {
    network.partition(["n1"]);
    const dialler = dial();
    dialler.socket.end("late");
    await othersPass();
    expect(echo.heard).toEqual(["other"]);
    network.heal();
    await until("it arrives", () => echo.heard.includes("late") && echo.ends.includes("end"));
  });

  test("a cut resets what is open and what comes, at both ends", async () => {
    const dialler = dial();
    dialler.socket.write("1");
    await until("it is open", () => dialler.heard === "1");
    network.cut(["n1"]);
    await until("both ends see it", () => dialler.end === "ECONNRESET" && echo.ends.includes("ECONNRESET"));
    const another = dial();
    await until("so does the next", () => another.end !== null);
    expect(another.end).toBe("ECONNRESET");
    network.heal();
    const last = dial();
    last.socket.write("2");
    await until("it is healed", () => last.heard === "2");
  });

  test("a slow link is late, and keeps order", async () => {
    network.slow("n2", { delayMs: 60, bytesPerSecond: 100_000 });
    const dialler = dial();
    const startedMs = performance.now();
    const words = Array.from({ length: 1000 }, (_, i) => `${i} `).join("");
    for (const part of [words.slice(0, 10), words.slice(10)]) dialler.socket.write(part);
    await until("all is back", () => dialler.heard === words);
    expect(performance.now() - startedMs).toBeGreaterThan(120);
  });
});
