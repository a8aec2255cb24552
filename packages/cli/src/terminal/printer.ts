import { styleText } from "node:util";
import type { Mark } from "@event-anchoring/verdicts";
import type { NextCommand } from "./next-command.ts";

/** Where a command writes; a terminal gets colours, everything else plain text. */
export interface Output {
  readonly isTTY: boolean;
  write(text: string): void;
}

const SIGNS: Readonly<Record<Mark, readonly [sign: string, colour: "green" | "red" | "gray" | "yellow"]>> = {
  pass: ["✓", "green"],
  fail: ["✗", "red"],
  skip: ["-", "gray"],
  warn: ["!", "yellow"],
};

const LABEL_WIDTH = 14;

/** Lines of a command's answer to a person. */
export class Printer {
  readonly #output: Output;
  readonly #isColoured: boolean;
  #nextCommand: NextCommand | null = null;

  constructor(output: Output, environment: Readonly<Record<string, string | undefined>>) {
    this.#output = output;
    this.#isColoured = output.isTTY && (environment["NO_COLOR"] ?? "") === "";
  }

  /** From now on a command that follows is written like this. */
  follow(nextCommand: NextCommand): void {
    this.#nextCommand = nextCommand;
  }

  /** A command line to be typed next, with the options of this one that it takes. */
  readonly next: NextCommand = (...words) => {
    if (this.#nextCommand === null) throw new RangeError("no command runs");
    return this.#nextCommand(...words);
  };

  line(text = ""): void {
    this.#output.write(`${text}\n`);
  }

  /** A result that is a file of its own, as it is. */
  raw(text: string): void {
    this.#output.write(text);
  }

  /** `✓ inclusion      4 hashes lead to the root` */
  check(mark: Mark, label: string, detail: string): void {
    this.line(`  ${this.sign(mark)} ${label.padEnd(LABEL_WIDTH)} ${detail}`);
  }

  /** A line of a tree, `level` steps below its root. */
  leaf(level: number, mark: Mark, text: string): void {
    const branch = level === 0 ? "" : `${"   ".repeat(level - 1)}└─ `;
    this.line(`  ${branch}${this.sign(mark)} ${text}`);
  }

  heading(text: string): void {
    this.line(this.#isColoured ? styleText("bold", text) : text);
  }

  /** What matters less than the rest of its line. */
  dim(text: string): string {
    return this.#isColoured ? styleText("dim", text) : text;
  }

  verdict(mark: Mark, text: string): void {
    const [, colour] = SIGNS[mark];
    this.line(this.#isColoured ? styleText(["bold", colour], text) : text);
  }

  sign(mark: Mark): string {
    const [sign, colour] = SIGNS[mark];
    return this.#isColoured ? styleText(colour, sign) : sign;
  }

  /** One object a line, for what goes on. */
  jsonLine(value: object): void {
    this.line(JSON.stringify(value));
  }

  json(value: object): void {
    this.line(JSON.stringify(value, null, 2));
  }
}
