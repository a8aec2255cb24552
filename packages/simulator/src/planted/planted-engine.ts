import type {
  Entry,
  EntryId,
  EntryMeta,
  InboundMessage,
  Message,
  RaftEngine,
  RaftId,
  RaftIndex,
  RawNode,
  RawNodeOptions,
  ReadState,
  Ready,
} from "raft-ts";
import type { Bugs, PlantedBug } from "./planted-bugs.ts";

export interface EngineWatcher {
  onCreated(node: RawNode): void;
  onTick(): void;
  /** A leader appends what it has stamped. */
  onProposed(payload: Uint8Array): void;
  /** A leader has appended a membership change. */
  onChangeProposed(entry: EntryId, context: Uint8Array): void;
  /** For the bug that forgets what compaction knows: the highest commit index of the rows that are left. */
  rowsCommitHint(): number;
  /** For the bug that shortens the log: drops the durable rows after that one. */
  dropRowsAfter(index: RaftIndex): void;
  /** True time, for the bug that corrects stamps by it. */
  nowMs(): number;
}

type CreateNode = Pick<RaftEngine, "createNode">;

/** The engine as a machine has it: each node it makes is known, and may be wrong on purpose. */
export function watchedEngine(engine: CreateNode, bugs: Bugs, watcher: EngineWatcher): CreateNode {
  return {
    createNode: (options) => {
      const node = engine.createNode(forgetful(options, bugs, watcher));
      const wrong = new WrongNode(node, options, bugs, watcher);
      const watched = replaced(node, wrong.overrides());
      watcher.onCreated(watched);
      return watched;
    },
  };
}

/** What the engine is told is committed, where a bug forgets a part of what shows it. */
function forgetful(options: RawNodeOptions, bugs: Bugs, watcher: EngineWatcher): RawNodeOptions {
  const { initial } = options;
  const withCommit = (commit: RaftIndex): RawNodeOptions => ({
    ...options,
    initial: { ...initial, hardState: { ...initial.hardState, commit } },
  });
  if (bugs.has("signed_entries_not_known_committed")) {
    return withCommit(Math.max(watcher.rowsCommitHint(), initial.applied, initial.snapshot?.index ?? 0));
  }
  const forgetsCompaction = bugs.has("commit_hint_missing_after_compaction") && initial.snapshot !== null;
  return forgetsCompaction ? withCommit(watcher.rowsCommitHint()) : options;
}

/** The same node, with some of its methods replaced. It is called too often for the trap of a Proxy. */
function replaced(node: RawNode, overrides: Partial<RawNode>): RawNode {
  const methods: Record<string, unknown> = {};
  for (const name of Object.getOwnPropertyNames(Object.getPrototypeOf(node))) {
    const method: unknown = Reflect.get(node, name);
    if (typeof method === "function" && name !== "constructor") methods[name] = method.bind(node);
  }
  return Object.assign(methods, { id: node.id }, overrides) as unknown as RawNode;
}

const EMPTY = new Uint8Array(0);
const TICK_MS = 100;

class WrongNode {
  readonly #node: RawNode;
  readonly #options: RawNodeOptions;
  readonly #bugs: Bugs;
  readonly #watcher: EngineWatcher;
  #messages: Message[] = [];
  #readStates: ReadState[] = [];
  #early: EntryMeta[] = [];
  #earlyTo = 0;
  #lastTickMs: number | null = null;
  #context: Uint8Array | null = null;
  #change: Uint8Array | null = null;
  #heardCommit = 0;
  #applied = 0;
  #proposals = 0;
  readonly #payloads = new Map<number, Uint8Array>();

  constructor(node: RawNode, options: RawNodeOptions, bugs: Bugs, watcher: EngineWatcher) {
    this.#node = node;
    this.#options = options;
    this.#bugs = bugs;
    this.#watcher = watcher;
  }

  overrides(): Partial<RawNode> {
    const always: Partial<RawNode> = {
      tick: () => this.#tick(),
      proposeConfChange: (change) => {
        const entry = this.#node.proposeConfChange(change);
        this.#watcher.onChangeProposed(entry, change.context);
        return entry;
      },
    };
    if (this.#bugs.size === 0) return always;
    return {
      ...always,
      hasReady: () => this.#hasReady(),
      ready: () => this.#ready(),
      step: (message) => this.#step(message),
      readIndex: (context) => this.#readIndex(context),
      propose: (payload) => this.#propose(payload),
      mirrorAppend: (entries) => this.#mirrorAppend(entries),
      decodeConfChange: (payload) => {
        this.#change = payload;
        return this.#node.decodeConfChange(payload);
      },
      applyConfChange: (payload) => {
        const refused = this.#has("stale_membership_change_applied") ? this.#change : null;
        return this.#node.applyConfChange(payload ?? refused);
      },
    };
  }

  #has(bug: PlantedBug): boolean {
    return this.#bugs.has(bug);
  }

  #tick(): void {
    const nowMs = this.#watcher.nowMs();
    const missed = Math.floor((nowMs - (this.#lastTickMs ?? nowMs)) / TICK_MS) - 1;
    this.#lastTickMs = nowMs;
    const ticks = this.#has("ticks_caught_up") ? Math.max(1, missed + 1) : 1;
    for (let tick = 0; tick < ticks; tick++) {
      this.#watcher.onTick();
      this.#node.tick();
    }
  }

  #hasReady(): boolean {
    return this.#messages.length > 0 || this.#readStates.length > 0 || this.#early.length > 0 || this.#node.hasReady();
  }

  #ready(): Ready {
    const ready = this.#node.ready();
    const messages = [...ready.messages, ...this.#messages];
    const readStates = [...ready.readStates.map((state) => this.#heard(state)), ...this.#readStates];
    this.#messages = [];
    this.#readStates = [];
    let changed: Ready = { ...ready, messages, readStates };
    if (this.#has("responses_before_append")) changed = overtaking(changed);
    if (this.#has("payload_by_index_alone")) changed = this.#withPayloadsByIndex(changed);
    if (this.#has("ack_of_more_than_written")) changed = boastful(changed);
    if (this.#has("applied_before_durable_here")) this.#applyEarly(changed.append?.entries ?? []);
    if (this.#has("sign_before_commit") || this.#has("applied_before_durable_here")) {
      changed = this.#withEarlyApplies(changed);
    }
    if (this.#has("applied_entry_skipped")) changed = this.#withoutOne(changed);
    return changed;
  }

  #heard(state: ReadState): ReadState {
    if (this.#has("read_index_id_reused")) return { ...state, context: this.#context ?? state.context };
    return this.#has("read_does_not_wait_for_apply") ? { ...state, index: 0 } : state;
  }

  #readIndex(context: Uint8Array): void {
    const { role, commit } = this.#node.basicStatus();
    const isAnswered =
      (this.#has("lease_like_read") && role === "leader") || (this.#has("follower_answers_read") && role !== "leader");
    if (isAnswered) {
      this.#readStates.push({ index: commit, context });
      return;
    }
    if (!this.#has("read_index_id_reused")) return this.#node.readIndex(context);
    this.#context = context;
    const reused = Uint8Array.from(context);
    reused.fill(0, 16);
    this.#node.readIndex(reused);
  }

  #propose(payload: Uint8Array): ReturnType<RawNode["propose"]> {
    this.#proposals += 1;
    this.#watcher.onProposed(payload);
    if (!this.#has("version_raised_early") || this.#proposals !== 20) return this.#node.propose(payload);
    const raised = Uint8Array.from(payload);
    raised[0] = 0xff;
    return this.#node.propose(raised);
  }

  #step(message: InboundMessage): void {
    if (message.type === "MsgApp") this.#onAppend(message);
    if (this.#has("vote_granted_twice") && message.type === "MsgVote") this.#grant(message);
    if (this.#has("commit_beyond_verified") && message.type === "MsgHeartbeat") {
      const { lastIndex, term } = this.#node.basicStatus();
      const commit = message.term >= term ? Math.max(message.commit, lastIndex) : message.commit;
      this.#node.step({ ...message, commit });
      return;
    }
    this.#node.step(message);
  }

  #onAppend({ term, index, commit, entries }: InboundMessage): void {
    const status = this.#node.basicStatus();
    if (term !== status.term || status.role === "leader" || entries.length === 0) return;
    const end = index + entries.length;
    this.#heardCommit = Math.max(this.#heardCommit, Math.min(commit, end));
    if (this.#has("suffix_truncated_by_stale_append") && end < status.lastIndex) this.#watcher.dropRowsAfter(end);
  }

  /** Entries that the leader calls committed are applied while they are still being written here. */
  #applyEarly(entries: readonly Entry[]): void {
    for (const { index, term, type, payload } of entries) {
      if (index > this.#heardCommit || index !== Math.max(this.#earlyTo, this.#applied) + 1) continue;
      this.#early.push({ index, term, type, payloadBytes: payload.length });
      this.#earlyTo = index;
    }
  }

  #grant(message: InboundMessage): void {
    const { term } = this.#node.basicStatus();
    if (message.term < term) return;
    this.#messages.push({
      ...message,
      type: "MsgVoteResp",
      from: message.to,
      to: message.from,
      reject: false,
      entries: [],
    });
  }

  #mirrorAppend(entries: readonly (Entry | EntryMeta)[]): void {
    this.#node.mirrorAppend(entries);
    if (this.#has("sign_before_commit")) {
      for (const { index, term, type, payload } of entries) {
        if (index > this.#earlyTo) this.#early.push({ index, term, type, payloadBytes: payload?.length ?? 0 });
      }
      this.#earlyTo = Math.max(this.#earlyTo, entries.at(-1)?.index ?? 0);
    }
    if (this.#has("quorum_of_one")) this.#countTwice(entries.at(-1));
  }

  #countTwice(last: EntryId | undefined): void {
    const { role, term, id } = this.#node.basicStatus();
    if (role !== "leader" || last === undefined || last.term !== term) return;
    const others = this.#options.initial.confState.voters.filter((voter: RaftId) => voter !== id);
    for (const from of others.slice(0, Math.floor((others.length + 1) / 2))) {
      this.#node.step({
        type: "MsgAppResp",
        from,
        to: id,
        term,
        logTerm: 0,
        index: last.index,
        commit: 0,
        vote: 0n,
        reject: false,
        rejectHint: 0,
        context: EMPTY,
        snapshot: null,
        entries: [],
      });
    }
  }

  #withPayloadsByIndex(ready: Ready): Ready {
    for (const { index, payload } of ready.append?.entries ?? []) {
      if (!this.#payloads.has(index)) this.#payloads.set(index, payload);
    }
    const messages = ready.messages.map((message) => ({
      ...message,
      entries: message.entries.map((meta) => {
        const payload = meta.type === "normal" && meta.index > 0 ? this.#payloads.get(meta.index) : meta.payload;
        return payload === undefined ? meta : { ...meta, payload };
      }),
    }));
    const entries = ready.append?.entries.map((entry) => ({
      ...entry,
      payload: this.#payloads.get(entry.index) ?? entry.payload,
    }));
    const append = ready.append === null ? null : { ...ready.append, entries: entries ?? [] };
    return { ...ready, messages, append };
  }

  #withEarlyApplies(ready: Ready): Ready {
    const early = this.#early;
    this.#early = [];
    const late = (ready.apply?.entries ?? []).filter(({ index }) => index > this.#applied);
    const entries = [...late, ...early.filter(({ index }) => index > (late.at(-1)?.index ?? this.#applied))];
    this.#applied = entries.at(-1)?.index ?? this.#applied;
    if (entries.length === 0 && ready.apply === null) return ready;
    return { ...ready, apply: { entries, responses: ready.apply?.responses ?? [] } };
  }

  #withoutOne(ready: Ready): Ready {
    if (ready.apply === null) return ready;
    const entries = ready.apply.entries.filter(({ index }) => index !== 30);
    return { ...ready, apply: { ...ready.apply, entries } };
  }
}

/** A chore without entries is answered at once, before earlier writes end. */
function overtaking(ready: Ready): Ready {
  const { append } = ready;
  if (append === null || append.snapshot !== null || append.entries.length > 0) return ready;
  const isForPeers = (message: Message): boolean => message.type === "MsgAppResp" && message.to !== message.from;
  const messages = [...ready.messages, ...append.responses.filter(isForPeers)];
  return { ...ready, messages, append: { ...append, responses: append.responses.filter((each) => !isForPeers(each)) } };
}

function boastful(ready: Ready): Ready {
  const { append } = ready;
  if (append === null) return ready;
  const responses = append.responses.map((message) => {
    const isAck = message.type === "MsgAppResp" && !message.reject && message.to !== message.from;
    return isAck ? { ...message, index: message.index + 1 } : message;
  });
  return { ...ready, append: { ...append, responses } };
}
