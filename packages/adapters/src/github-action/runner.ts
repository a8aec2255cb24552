/** What a runner of GitHub Actions tells by variables, and is told by lines and files. */
import { appendFileSync } from "node:fs";
import { randomUUID } from "node:crypto";

export type Variables = Readonly<Record<string, string | undefined>>;

/** The step cannot do what it is asked to; the message is a sentence for who has written the workflow. */
export class ActionError extends Error {
  override readonly name = "ActionError";
}

/** What `with` says, trimmed; null: nothing. */
export function inputOf(env: Variables, name: string): string | null {
  const value = env[`INPUT_${name.toUpperCase()}`]?.trim();
  return value === undefined || value === "" ? null : value;
}

/** @throws ActionError if there is none */
export function requiredInput(env: Variables, name: string): string {
  const value = inputOf(env, name);
  if (value === null) throw new ActionError(`the input ${name} is missing`);
  return value;
}

/** @throws ActionError if the runner has not set it */
export function variableOf(env: Variables, name: string): string {
  const value = env[name];
  if (value === undefined || value === "") throw new ActionError(`${name} is not set: is this a runner?`);
  return value;
}

/** A command to the runner: `add-mask`, `error`. */
export function tellRunner(command: string, text: string): void {
  const escaped = text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  process.stdout.write(`::${command}::${escaped}\n`);
}

/** A value may have any line but the delimiter, which nobody can guess. */
export function writeOutput(env: Variables, name: string, value: string): void {
  const delimiter = `end-${randomUUID()}`;
  appendFileSync(variableOf(env, "GITHUB_OUTPUT"), `${name}<<${delimiter}\n${value}\n${delimiter}\n`);
}
