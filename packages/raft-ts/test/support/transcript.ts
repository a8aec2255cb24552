import { RaftError, decodeMessage } from "../../src/index.ts";
import type { ConfChange, ConfState, RaftEngine, RaftId } from "../../src/index.ts";
import { Cluster, EMPTY_CONF, NO_BYTES } from "./cluster.ts";
import type { Member } from "./cluster.ts";
import { describeConf, describeEntry, describeMessage, describeReady, describeStatus } from "./describe.ts";

/**
 * A transcript is a text of blocks: commands, a line "----", what they print, an empty line. Lines that start with
 * "#" are comments. `replay` returns the same text with what is printed now.
 */
export function replay(engine: RaftEngine, source: string): string {
  const runner = new Runner(engine);
  const blocks = source.trimEnd().split(/\n\n+/);
  return `${blocks.map((block) => runner.block(block)).join("\n\n")}\n`;
}

const bytes = new TextEncoder();

class Runner {
  readonly #cluster: Cluster;
  #logs: string[] | null = null;

  constructor(engine: RaftEngine) {
    this.#cluster = new Cluster(engine, (line) => this.#logs?.push(`  ${line}`));
  }

  block(block: string): string {
    const lines = block.split("\n");
    const commands = lines.includes("----") ? lines.slice(0, lines.indexOf("----")) : lines;
    const isComment = commands.every((line) => line.startsWith("#"));
    if (isComment) return block;
    const printed = commands.filter((line) => !line.startsWith("#")).flatMap((line) => this.#run(line));
    return [...commands, "----", ...(printed.length === 0 ? ["ok"] : printed)].join("\n");
  }

  #run(line: string): string[] {
    const [command = "", ...args] = line.trim().split(/\s+/);
    try {
      return this.#dispatch(command, args);
    } catch (error) {
      if (error instanceof RaftError) return [`${error.name}: ${error.message}`];
      throw error;
    }
  }

  #dispatch(command: string, args: readonly string[]): string[] {
    const clusterWide = this.#clusterCommand(command, args);
    if (clusterWide !== null) return clusterWide;
    const [idText = "", ...rest] = args;
    const member = this.#cluster.member(BigInt(idText));
    const local = this.#calls(member, command, rest) ?? this.#chores(member, command, rest);
    if (local === null) throw new Error(`unknown command ${command}`);
    return local;
  }

  #clusterCommand(command: string, args: readonly string[]): string[] | null {
    switch (command) {
      case "voters": {
        const ids = args.map(BigInt);
        for (const id of ids) this.#cluster.add(id, { ...EMPTY_CONF, voters: ids }, Number(id));
        return [];
      }
      case "newcomer": {
        const [id = "0", ...voters] = args;
        const conf: ConfState = { ...EMPTY_CONF, voters: voters.map(BigInt) };
        this.#cluster.add(BigInt(id), conf, Number(id));
        return [];
      }
      case "stabilize":
        return this.#stabilize(args.map(BigInt));
      case "quietly":
        this.#cluster.stabilize();
        return [];
      case "log":
        this.#logs = args[0] === "on" ? [] : null;
        return [];
      default:
        return null;
    }
  }

  #stabilize(ids: readonly RaftId[]): string[] {
    const members = ids.length === 0 ? [...this.#cluster.members.keys()] : ids;
    const lines: string[] = [];
    let isBusy = true;
    while (isBusy) {
      isBusy = false;
      for (const id of members) {
        const report: string[] = [];
        const wasBusy = this.#cluster.turn(this.#cluster.member(id), (ready) => report.push(...describeReady(ready)));
        isBusy ||= wasBusy;
        if (report.length > 0) lines.push(`${id}:`, ...report.map((line) => `  ${line}`));
      }
    }
    return lines;
  }

  /** What is asked of a node. */
  #calls(member: Member, command: string, args: readonly string[]): string[] | null {
    const { node } = member;
    const [first = "", ...rest] = args;
    switch (command) {
      case "tick":
        for (let ticks = Number(first || "1"); ticks > 0; ticks -= 1) node.tick();
        return this.#takeLogs();
      case "campaign":
        node.campaign();
        return this.#takeLogs();
      case "forget-leader":
        node.forgetLeader();
        return [];
      case "transfer":
        node.transferLeader(BigInt(first));
        return [];
      case "propose": {
        const { index, term } = node.propose(bytes.encode(args.join(" ")));
        return [`${index}/${term}`];
      }
      case "propose-large": {
        const { index, term } = node.propose(new Uint8Array(Number(first)).fill(0x61));
        return [`${index}/${term}`];
      }
      case "propose-conf": {
        const { index, term } = node.proposeConfChange(parseConfChange(first, rest));
        return [`${index}/${term}`];
      }
      case "read":
        node.readIndex(bytes.encode(first));
        return [];
      case "unreachable":
        node.reportUnreachable(BigInt(first));
        return [];
      case "snapshot-sent":
        node.reportSnapshot(BigInt(first), rest[0] !== "failed");
        return [];
      default:
        return this.#questions(member, command, first);
    }
  }

  #questions(member: Member, command: string, argument: string): string[] | null {
    const { node } = member;
    switch (command) {
      case "status":
        return describeStatus(node.status());
      case "conf":
        return [describeConf(node.confState())];
      case "term":
        return [String(node.termAt(Number(argument)))];
      case "disk": {
        const { hardState, snapshot, entries, applied } = member.disk;
        const { term, vote, commit } = hardState;
        const base = snapshot === null ? "whole" : `after ${snapshot.index}/${snapshot.term}`;
        return [
          `term ${term} vote ${vote} commit ${commit} applied ${applied}, log ${base}`,
          ...entries.map((entry) => `  ${describeEntry(entry)}`),
        ];
      }
      default:
        return null;
    }
  }

  /** What a driver does, step by step. */
  #chores(member: Member, command: string, args: readonly string[]): string[] | null {
    switch (command) {
      case "ready": {
        const ready = member.take();
        this.#cluster.send(member, ready.messages);
        return describeReady(ready);
      }
      case "append": {
        const responses = member.append();
        this.#cluster.send(member, responses);
        return responses.map(describeMessage);
      }
      case "apply": {
        const responses = member.apply(args[0] === "refuse");
        this.#cluster.send(member, responses);
        return responses.map(describeMessage);
      }
      case "deliver":
        return [`${this.#cluster.deliver(member.id)} delivered`, ...this.#takeLogs()];
      case "inbox":
        return (this.#cluster.inboxes.get(member.id) ?? []).map((message) => {
          const decoded = decodeMessage(message);
          const entries = decoded.entries.map((entry) => ({ ...entry, payloadBytes: entry.payload.length }));
          return describeMessage({ ...decoded, entries });
        });
      case "lose":
        return [`${this.#cluster.inboxes.get(member.id)?.splice(0).length ?? 0} lost`];
      case "cut":
      case "join":
        this.#cluster.cut(member.id, command === "cut");
        return [];
      case "compact":
        member.compact(Number(args[0]));
        return [];
      case "restart":
        member.restart();
        return [];
      default:
        return null;
    }
  }

  #takeLogs(): string[] {
    return this.#logs?.splice(0) ?? [];
  }
}

/** `v4` adds a voter, `l4` a learner, `r4` removes; `leave` leaves a joint configuration. */
function parseConfChange(transition: string, words: readonly string[]): ConfChange {
  if (transition === "leave") return { transition: "auto", changes: [], context: NO_BYTES };
  if (transition !== "auto" && transition !== "implicit" && transition !== "explicit") {
    throw new Error(`unknown transition ${transition}`);
  }
  const types = { v: "add_node", l: "add_learner", r: "remove_node" } as const;
  const changes = words.map((word) => {
    const kind = word[0];
    if (kind !== "v" && kind !== "l" && kind !== "r") throw new Error(`unknown change ${word}`);
    return { type: types[kind], id: BigInt(word.slice(1)) };
  });
  return { transition, changes, context: NO_BYTES };
}
