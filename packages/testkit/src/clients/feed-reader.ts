/** A reader of server-sent events who trusts nothing: it holds every head against the one before. */
import { request as httpRequest } from "node:http";
import type { ClientRequest, IncomingHttpHeaders, IncomingMessage } from "node:http";
import { once } from "node:events";
import { headEventSchema } from "@event-anchoring/api-contract";
import type { HeadEvent } from "@event-anchoring/api-contract";
import { nodeCrypto } from "@event-anchoring/node-crypto";
import { base64ToBytes, hexToBytes, parseCheckpoint, parseNote, verifyConsistency } from "@event-anchoring/protocol";
import { until } from "../until.ts";

export class FeedReader {
  /** 0: no answer came. */
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly heads: HeadEvent[] = [];
  /** All other events: name and JSON. */
  readonly others: string[] = [];
  comments = 0;
  isEnded = false;
  text = "";
  readonly #request: ClientRequest;

  private constructor(request: ClientRequest, response: IncomingMessage | null) {
    this.#request = request;
    this.status = response?.statusCode ?? 0;
    this.headers = response?.headers ?? {};
    this.isEnded = response === null;
    if (response !== null) this.#read(response);
  }

  #read(response: IncomingMessage): void {
    let rest = "";
    response.setEncoding("utf8");
    response.on("data", (chunk: string) => {
      this.text += chunk;
      rest += chunk;
      const blocks = rest.split("\n\n");
      rest = blocks.pop() ?? "";
      for (const block of blocks) this.#take(block);
    });
    response.on("error", () => undefined);
    response.on("close", () => (this.isEnded = true));
  }

  static async open(port: number, path: string, headers: Record<string, string>): Promise<FeedReader> {
    const request = httpRequest({ port, path, host: "127.0.0.1", agent: false, headers });
    request.on("error", () => undefined);
    request.end();
    const [response] = (await once(request, "response").catch(() => [])) as [IncomingMessage?];
    return new FeedReader(request, response ?? null);
  }

  get sizes(): readonly number[] {
    return this.heads.map(({ tree_size }) => tree_size);
  }

  close(): void {
    this.#request.destroy();
  }

  async reaches(size: number): Promise<void> {
    await until(`an event of ${size}`, async () => (this.sizes.at(-1) ?? 0) >= size);
  }

  async ends(): Promise<void> {
    await until("the end of the feed", async () => this.isEnded);
  }

  #take(block: string): void {
    if (block.startsWith(":")) this.comments += 1;
    const lines = new Map(block.split("\n").map((line) => [line.split(": ")[0], line.slice(line.indexOf(": ") + 2)]));
    const event = lines.get("event");
    if (event === undefined) return;
    const json = lines.get("data") ?? "";
    if (event !== "head") {
      this.others.push(`${event} ${json}`);
      return;
    }
    const head = headEventSchema.parse(JSON.parse(json));
    if (lines.get("id") !== String(head.tree_size)) throw new Error(`the id is ${lines.get("id")}: ${block}`);
    this.heads.push(head);
  }
}

/** @throws Error unless each head continues the one before, which begins at `known` */
export function assertHeadsChained(heads: readonly HeadEvent[], known: { size: number; root: string } | null): void {
  let before = known;
  for (const { tree_size: size, root_hash: root, checkpoint, consistency } of heads) {
    const signed = parseCheckpoint(parseNote(checkpoint).text);
    if (signed.treeSize !== size) throw new Error(`the checkpoint is of ${signed.treeSize}, not ${size}`);
    if (Buffer.from(signed.rootHash).toString("hex") !== root) throw new Error(`another root is signed at ${size}`);
    if (before === null) {
      if (consistency !== null) throw new Error("a proof from nowhere");
    } else {
      if (size <= before.size) throw new Error(`${size} comes after ${before.size}`);
      if (consistency?.from_size !== before.size || consistency.tree_size !== size) throw new Error("a gap");
      const claim = { oldSize: before.size, size, path: consistency.proof.map((hash) => base64ToBytes(hash)) };
      const roots = { oldRoot: hexToBytes(before.root, 32), root: hexToBytes(root, 32) };
      if (!verifyConsistency({ ...claim, ...roots }, nodeCrypto.sha256)) throw new Error(`no proof to ${size}`);
    }
    before = { size, root };
  }
}
