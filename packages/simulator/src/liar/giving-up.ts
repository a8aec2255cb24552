import type { LocalResponse } from "@event-anchoring/control-contract";
import { type Command, type LedgerState, encodeCommand } from "@event-anchoring/ledger";
import { type OriginFingerprint, bytesToHex } from "@event-anchoring/protocol";
import type { SimulatedMachine } from "../machine/simulated-machine.ts";
import type { Invariants } from "../machine/invariants.ts";

export interface GivingUpOptions {
  readonly invariants: Pick<Invariants, "fail">;
  /** A machine that was not lied to. */
  readonly machine: SimulatedMachine;
  /** The next version of the trust root, which calls this origin lost. */
  readonly documentOf: (lost: OriginFingerprint) => string;
  readonly eventFor: (origin: OriginFingerprint, name: string) => Command;
  /** Whether it came true in time. */
  readonly until: (condition: () => boolean, limitMs: number) => Promise<boolean>;
}

export const GIVING_UP_SENTENCES = [
  "aForkStopsItsOrigin",
  "anOriginIsGivenUp",
  "aLostOriginIsWhatTheLogRecords",
  "aLostOriginTakesNothing",
  "theOtherOriginsGoOn",
] as const;

type Sentence = (typeof GIVING_UP_SENTENCES)[number];

/** Time for an election, and for what waits for its end. */
const PATIENCE_MS = 15_000;
const ANSWER_MS = 3000;

/** After a fork, with the liar gone for good: the holders of the root keys give a forked origin up. */
export class GivingUp {
  readonly #options: GivingUpOptions;
  #requestId = 1_000_000;

  constructor(options: GivingUpOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    const [key] = await this.#stopped();
    const origin = key === undefined ? undefined : this.#state?.origins.get(key)?.originFingerprint;
    if (key === undefined || origin === undefined) return this.#fail("aForkStopsItsOrigin", "none has stopped");
    const document = this.#options.documentOf(origin);
    const isLost = (): boolean => this.#state?.origins.get(key)?.status === "lost";
    await this.#repeat(() => this.#submit({ kind: "trust_root", document }, "committed"), isLost);
    if (!isLost()) return this.#fail("anOriginIsGivenUp", `${key.slice(0, 4)} is not`);
    await this.#isShown(key, origin);
    await this.#isClosed(origin);
    await this.#othersGoOn();
  }

  get #state(): LedgerState | undefined {
    return this.#options.machine.node?.session?.state;
  }

  async #stopped(): Promise<readonly string[]> {
    const stopped = (): readonly string[] => this.#options.machine.node?.session?.view().contradictions.origins ?? [];
    await this.#options.until(() => stopped().length > 0, PATIENCE_MS);
    return stopped();
  }

  /** The origin is served up to the certificate in the log, and no further, by every node that applies the version. */
  async #isShown(key: string, origin: OriginFingerprint): Promise<void> {
    const answer = await this.#repeat(
      () => this.#ask({ type: "read", origins: [origin] }),
      (given) => given?.type === "ready_to_read",
    );
    const recorded = this.#state?.origins.get(key)?.certified?.treeSize ?? 0;
    const shown = answer?.type === "ready_to_read" ? (answer.certificates[0]?.treeSize ?? 0) : answer?.type;
    if (shown === recorded) return;
    this.#fail("aLostOriginIsWhatTheLogRecords", `recorded up to ${recorded}, shown: ${shown ?? "nothing"}`);
  }

  async #isClosed(origin: OriginFingerprint): Promise<void> {
    const write = (): Promise<LocalResponse | null> =>
      this.#submit(this.#options.eventFor(origin, "late"), "committed");
    const answer = await this.#repeat(write, (given) => given?.type === "submitted");
    const [record] = answer?.type === "submitted" && answer.outcome.kind === "records" ? answer.outcome.records : [];
    if (record?.status === "rejected" && record.rejection.code === "origin_closed") return;
    this.#fail("aLostOriginTakesNothing", record?.status ?? "no answer");
  }

  async #othersGoOn(): Promise<void> {
    const view = this.#options.machine.node?.session?.view().contradictions;
    const other = [...(this.#state?.origins.values() ?? [])].find(
      ({ originFingerprint, status }) =>
        status === "active" && view?.origins.includes(bytesToHex(originFingerprint)) === false,
    );
    if (other === undefined) return;
    const event = this.#options.eventFor(other.originFingerprint, "goes on");
    const answer = await this.#repeat(
      () => this.#submit(event, "certified"),
      (given) => given?.type === "submitted" && given.finality === "certified",
    );
    const isCertified = answer?.type === "submitted" && answer.finality === "certified";
    if (!isCertified) this.#fail("theOtherOriginsGoOn", "nothing is certified");
  }

  #fail(sentence: Sentence, detail: string): void {
    this.#options.invariants.fail(sentence, detail);
  }

  /** Retries until a good answer, or until the time is over. */
  async #repeat(
    ask: () => Promise<LocalResponse | null>,
    isGood: (answer: LocalResponse | null) => boolean,
  ): Promise<LocalResponse | null> {
    let answer: LocalResponse | null = null;
    for (let spentMs = 0; spentMs < PATIENCE_MS && !isGood(answer); spentMs += ANSWER_MS) answer = await ask();
    return answer;
  }

  #submit(command: Command, answer: "committed" | "certified"): Promise<LocalResponse | null> {
    return this.#ask({ type: "submit", command: encodeCommand(command), answer, call: null });
  }

  async #ask(request: Asked): Promise<LocalResponse | null> {
    this.#requestId += 1;
    let answer: LocalResponse | null = null;
    const { machine, until } = this.#options;
    machine.ask({ ...request, requestId: this.#requestId, remainingMs: ANSWER_MS }, (given) => (answer = given));
    await until(() => answer !== null, ANSWER_MS);
    return answer;
  }
}

type Asked =
  | { readonly type: "read"; readonly origins: readonly OriginFingerprint[] }
  | {
      readonly type: "submit";
      readonly command: Uint8Array;
      readonly answer: "committed" | "certified";
      readonly call: null;
    };
