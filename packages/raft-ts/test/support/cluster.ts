import { decodeMessage, encodeMessage } from "../../src/index.ts";
import type {
  AppendChore,
  ApplyChore,
  ConfState,
  Entry,
  EntryMeta,
  HardState,
  InitialState,
  Message,
  RaftEngine,
  RaftId,
  RawNode,
  Ready,
  SnapshotMeta,
} from "../../src/index.ts";

export const NO_BYTES = new Uint8Array(0);
export const EMPTY_CONF: ConfState = {
  voters: [],
  votersOutgoing: [],
  learners: [],
  learnersNext: [],
  autoLeave: false,
};

/** A stream of bytes that depends on the seed alone (xorshift32). */
export function seededRandom(seed: number): (bytes: Uint8Array) => void {
  let state = (seed * 2_654_435_761) >>> 0 || 1;
  return (bytes) => {
    for (let i = 0; i < bytes.length; i += 1) {
      state = (state ^ (state << 13)) >>> 0;
      state = (state ^ (state >>> 17)) >>> 0;
      state = (state ^ (state << 5)) >>> 0;
      bytes[i] = (state >>> 11) & 0xff;
    }
  };
}

/** What survives a crash of a member. */
interface Disk {
  hardState: HardState;
  snapshot: SnapshotMeta | null;
  entries: Entry[];
  applied: number;
  confState: ConfState;
}

/** A node, its storage and its two lanes. Payloads that no chore has made durable yet are in `payloads`. */
export class Member {
  readonly id: RaftId;
  readonly disk: Disk;
  node: RawNode;
  readonly appendLane: AppendChore[] = [];
  readonly applyLane: ApplyChore[] = [];
  readonly payloads = new Map<string, Uint8Array>();
  readonly #start: (initial: InitialState) => RawNode;

  constructor(id: RaftId, confState: ConfState, start: (initial: InitialState) => RawNode) {
    this.id = id;
    this.disk = {
      hardState: { term: 0, vote: 0n, commit: 0 },
      snapshot: null,
      entries: [],
      applied: 0,
      confState,
    };
    this.#start = start;
    this.node = start(this.#initial());
  }

  #initial(): InitialState {
    const { hardState, snapshot, entries, applied, confState } = this.disk;
    return { hardState, snapshot, entries, applied, confState };
  }

  /** Forgets all that is not on disk. */
  restart(): void {
    this.node.free();
    this.appendLane.length = 0;
    this.applyLane.length = 0;
    this.payloads.clear();
    for (const entry of this.disk.entries) this.payloads.set(`${entry.index}/${entry.term}`, entry.payload);
    this.node = this.#start(this.#initial());
  }

  take(): Ready {
    const ready = this.node.ready();
    for (const entry of ready.append?.entries ?? []) {
      this.payloads.set(`${entry.index}/${entry.term}`, entry.payload);
    }
    if (ready.append !== null) this.appendLane.push(ready.append);
    if (ready.apply !== null) this.applyLane.push(ready.apply);
    return ready;
  }

  /** Does all chores of the append lane and returns what is to be delivered. */
  append(): Message[] {
    const chores = this.appendLane.splice(0);
    for (const chore of chores) {
      if (chore.snapshot !== null) this.#install(chore.snapshot);
      this.#write(chore.entries);
      if (chore.hardState !== null) {
        this.disk.hardState = chore.hardState;
        this.node.mirrorHardState(chore.hardState);
      }
    }
    return chores.flatMap((chore) => chore.responses);
  }

  #install(snapshot: SnapshotMeta): void {
    this.disk.snapshot = snapshot;
    this.disk.entries = [];
    this.disk.applied = snapshot.index;
    this.disk.confState = snapshot.confState;
    this.node.mirrorSnapshot(snapshot);
  }

  #write(entries: readonly Entry[]): void {
    const first = entries[0];
    if (first === undefined) return;
    this.disk.entries = this.disk.entries.filter((entry) => entry.index < first.index).concat(entries);
    this.node.mirrorAppend(entries);
  }

  /** Does all chores of the apply lane; conf changes are put into force unless `refuse` says otherwise. */
  apply(refuse: boolean): Message[] {
    const chores = this.applyLane.splice(0);
    for (const entry of chores.flatMap((chore) => chore.entries)) {
      if (entry.type === "conf_change") {
        this.disk.confState = this.node.applyConfChange(refuse ? null : this.payloadOf(entry));
      }
      this.disk.applied = entry.index;
    }
    return chores.flatMap((chore) => chore.responses);
  }

  compact(index: number): void {
    const term = this.node.termAt(index);
    if (term === null) throw new Error(`no entry ${index}`);
    this.node.mirrorCompact(index, this.disk.confState);
    this.disk.snapshot = { index, term, confState: this.disk.confState };
    this.disk.entries = this.disk.entries.filter((entry) => entry.index > index);
  }

  payloadOf(entry: EntryMeta): Uint8Array {
    const payload = entry.payload ?? (entry.payloadBytes === 0 ? NO_BYTES : this.payloads.get(key(entry)));
    if (payload === undefined) throw new Error(`${this.id} has no payload of ${key(entry)}`);
    return payload;
  }

  /** The bytes that go to a peer. */
  encode(message: Message): Uint8Array {
    const entries = message.entries.map((entry) => ({
      index: entry.index,
      term: entry.term,
      type: entry.type,
      payload: this.payloadOf(entry),
    }));
    return encodeMessage({ ...message, entries });
  }
}

function key(entry: EntryMeta): string {
  return `${entry.index}/${entry.term}`;
}

/** Members in one engine, and a network that loses what is cut. Everything travels as bytes. */
export class Cluster {
  readonly members = new Map<RaftId, Member>();
  readonly inboxes = new Map<RaftId, Uint8Array[]>();
  readonly #engine: RaftEngine;
  readonly #cut = new Set<string>();
  readonly #log: (text: string) => void;

  constructor(engine: RaftEngine, log: (text: string) => void = () => undefined) {
    this.#engine = engine;
    this.#log = log;
  }

  add(id: RaftId, confState: ConfState, seed: number): Member {
    const random = seededRandom(seed);
    const start = (initial: InitialState): RawNode =>
      this.#engine.createNode({ id, initial, random, logger: (level, line) => this.#log(`${level} ${line}`) });
    const member = new Member(id, confState, start);
    this.members.set(id, member);
    this.inboxes.set(id, []);
    return member;
  }

  member(id: RaftId): Member {
    const member = this.members.get(id);
    if (member === undefined) throw new Error(`no node ${id}`);
    return member;
  }

  cut(id: RaftId, isCut: boolean): void {
    for (const peer of this.members.keys()) {
      for (const link of [`${id}->${peer}`, `${peer}->${id}`]) {
        if (isCut) this.#cut.add(link);
        else this.#cut.delete(link);
      }
    }
  }

  send(from: Member, messages: readonly Message[]): void {
    from.node.stepResponses(messages.filter(({ to }) => to === from.id));
    for (const message of messages) {
      if (message.to === from.id) continue;
      if (!this.#cut.has(`${from.id}->${message.to}`)) this.inboxes.get(message.to)?.push(from.encode(message));
    }
  }

  deliver(id: RaftId): number {
    const inbox = this.inboxes.get(id)?.splice(0) ?? [];
    const { node } = this.member(id);
    for (const bytes of inbox) node.step(decodeMessage(bytes));
    return inbox.length;
  }

  /** Everything one member has to do; false if that was nothing. */
  turn(member: Member, report: (ready: Ready) => void): boolean {
    let isBusy = this.deliver(member.id) > 0;
    for (;;) {
      const hasChores = member.appendLane.length + member.applyLane.length > 0;
      if (!hasChores && !member.node.hasReady()) return isBusy;
      isBusy = true;
      this.send(member, member.append());
      this.send(member, member.apply(false));
      if (!member.node.hasReady()) continue;
      const ready = member.take();
      report(ready);
      this.send(member, ready.messages);
    }
  }

  stabilize(ids: readonly RaftId[] = [...this.members.keys()]): void {
    let isBusy = true;
    while (isBusy) {
      isBusy = false;
      for (const id of ids) {
        if (this.turn(this.member(id), () => undefined)) isBusy = true;
      }
    }
  }
}
