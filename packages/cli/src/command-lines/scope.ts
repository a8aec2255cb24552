/** The command lines that make, show and disclose what a grant allows. */
import type { Command } from "commander";
import { CliError, EXIT } from "../terminal/cli-error.ts";
import { scopeDiscloseCommand, scopeMakeCommand, scopeShowCommand } from "../commands/scope.ts";
import { HELP } from "./context.ts";
import type { CommandContext, CommonFlags } from "./context.ts";

const HEX_32 = /^[0-9a-fA-F]{64}$/u;

const MAKE_HELP = `
The statements are a JSON object: names of lower-case letters, digits, _ . - and values that are texts, whole numbers,
true, false, or lists and objects of these. For example:

  {"actions": ["refund"], "max_amount": 5000, "currency": "EUR", "agreement": "ticket 4711"}

The file that is written has a random salt for each, and is a secret: who has it can show every statement. Its
scope_hash goes into the grant (anchorctl grant --scope). Nothing is overwritten.
`;

interface MakeFlags extends CommonFlags {
  readonly out: string;
}

interface ShowFlags extends CommonFlags {
  readonly scopeHash?: string;
}

interface DiscloseFlags extends CommonFlags {
  readonly only: string;
  readonly out: string;
}

function namesOf(only: string): readonly string[] {
  const names = only.split(",").map((name) => name.trim());
  if (names.every((name) => name !== "")) return names;
  throw new CliError(EXIT.usage, "names_invalid", "--only takes names of statements, with commas between");
}

export function addScope(program: Command, { printer, done }: CommandContext): void {
  const scope = program
    .command("scope")
    .description("what a grant allows, as statements that are disclosed one by one; offline")
    .addHelpText("after", HELP);
  scope
    .command("make <statements>")
    .description("make a scope document of a JSON file: salted, mode 600; its scope_hash goes into a grant")
    .requiredOption("-o, --out <file>", "where to write the document, a secret")
    .option("--json", "print one JSON object")
    .addHelpText("after", MAKE_HELP + HELP)
    .action((statements: string, { out, json }: MakeFlags) => {
      done(scopeMakeCommand({ statements, out, isJson: json === true }, printer));
    });
  scope
    .command("show <scope>")
    .description("show what a scope document, or a disclosure, holds, and that it fits together")
    .option("--scope-hash <hash>", "that of a grant: fail if the document is not of it")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action((path: string, { scopeHash, json }: ShowFlags) => {
      if (scopeHash !== undefined && !HEX_32.test(scopeHash)) {
        throw new CliError(EXIT.usage, "scope_hash_invalid", "--scope-hash takes 64 hex digits");
      }
      done(scopeShowCommand({ scope: path, scopeHash: scopeHash ?? null, isJson: json === true }, printer));
    });
  scope
    .command("disclose <scope>")
    .description("write a file that shows some statements, and of the others only how many there are")
    .requiredOption("--only <names>", "names of the statements to disclose, with commas between")
    .requiredOption("-o, --out <file>", "where to write the disclosure")
    .option("--json", "print one JSON object")
    .addHelpText("after", HELP)
    .action((path: string, { only, out, json }: DiscloseFlags) => {
      done(scopeDiscloseCommand({ scope: path, only: namesOf(only), out, isJson: json === true }, printer));
    });
}
