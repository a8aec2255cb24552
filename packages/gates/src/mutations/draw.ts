import { Seeded } from "@event-anchoring/simulator";
import { VectorKeys } from "@event-anchoring/testkit/sdks";
import { type Corpus, FORMS, KINDS, type Kind, type Sample } from "./corpus.ts";
import { mutated } from "./mutate.ts";
import { wellFormed } from "./well-formed.ts";

/** As the languages read it. */
export type Question = Readonly<Record<string, unknown>>;

export interface DrawnQuestion {
  readonly kind: Kind;
  /** null: the text cannot be asked about. */
  readonly question: Question | null;
}

/** How often a kind is drawn: those come more often that more verifiers take. */
const SHARES: Readonly<Record<Kind, number>> = { bundle: 5, proof: 4, receipt: 3, "trust-root": 3, checkpoint: 3 };
/** As JSON writes it; a backslash before it would be a text that says so. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;
/** Bytes are spoiled in so many, of which most cannot be read. In all others the parts of a document are changed. */
const SPOILED = 0.3;

/** Draws questions, each a function of its seed. */
export class Questions {
  readonly #shares: readonly Kind[];
  /** By kind, and by what is asked about them: each question is as likely as another one. */
  readonly #samples: ReadonlyMap<Kind, readonly (readonly Sample[])[]>;
  readonly #keys: VectorKeys;

  constructor({ samples, trustRoots }: Corpus) {
    this.#samples = new Map(KINDS.map((kind) => [kind, byQuestion(samples.filter((each) => each.kind === kind))]));
    this.#shares = Object.entries(SHARES).flatMap(([kind, share]) => Array.from({ length: share }, () => kind as Kind));
    this.#keys = new VectorKeys(trustRoots);
  }

  draw(seed: number): DrawnQuestion {
    const dice = new Seeded(seed, 21);
    const kind = dice.pick(this.#shares);
    const { text, about, others } = dice.pick(dice.pick(this.#samples.get(kind) ?? []));
    const material = { dice, keys: this.#keys, others };
    const other = dice.chance(SPOILED) ? mutated(text, dice) : wellFormed(text, FORMS[kind], material);
    const question = about(other) as Question | null;
    // A question is a line of JSON, in which a lone surrogate cannot come to Rust.
    const isAskable = question !== null && !LONE_SURROGATE.test(JSON.stringify(question));
    return { kind, question: isAskable ? question : null };
  }
}

function byQuestion(samples: readonly Sample[]): readonly (readonly Sample[])[] {
  const groups = new Map<unknown, Sample[]>();
  for (const sample of samples) {
    const { op } = (sample.about(sample.text) ?? {}) as Question;
    groups.set(op, [...(groups.get(op) ?? []), sample]);
  }
  return [...groups.values()];
}
