/** How a process of a node is configured: a file that holds one JSON object and, over it, the environment. */
import { z } from "zod";
import { nearestName, unknownName } from "./nearest-name.ts";

/** Settings are missing or wrong; each fault names the setting and says what it must be, and holds no value. */
export class SettingsError extends Error {
  /** A line each; the message is all of them. */
  readonly faults: readonly string[];
  constructor(faults: string | readonly string[], options?: { cause: unknown }) {
    const lines = typeof faults === "string" ? [faults] : faults;
    super(lines.join("\n"), options);
    this.name = "SettingsError";
    this.faults = lines;
  }
}

/** Collects what is wrong in several parts, so that a person is told all of it at once. */
export class SettingsFaults {
  readonly #faults: string[] = [];

  get all(): readonly string[] {
    return this.#faults;
  }

  /** What `read` returns; null if it throws a SettingsError, whose faults are kept. */
  take<Value>(read: () => Value): Value | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof SettingsError)) throw error;
      this.#faults.push(...error.faults);
      return null;
    }
  }

  /** @throws SettingsError if there is a fault */
  assertNone(): void {
    if (this.#faults.length > 0) throw new SettingsError(this.#faults);
  }
}

/** What one process reads. */
export interface SettingsShape<Schema extends z.ZodObject = z.ZodObject> {
  /** Strict: names that it does not know are refused. */
  readonly schema: Schema;
  /**
   * The prefix of its environment variables, `__` included. No other variable has it, so that a misspelt one is
   * noticed.
   */
  readonly prefix: string;
}

/** One value that can be set. */
export interface Setting {
  /** The name in messages and documents: `listen.port`. */
  readonly name: string;
  readonly path: readonly string[];
  /** The environment variable that overrides the file. */
  readonly variable: string;
  /** A text is read from the environment as it is; any other value is JSON there. */
  readonly isText: boolean;
  readonly isRequired: boolean;
  /** undefined: none. */
  readonly default: unknown;
}

export interface SettingsSource {
  /** Names the file in messages. */
  readonly path: string;
  readonly text: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
}

type Values = Record<string, unknown>;

interface Unwrapped {
  readonly type: z.core.$ZodType;
  readonly isRequired: boolean;
  readonly default: unknown;
}

/** A type without its `optional`, `nullable` and `default` wrappers. */
function unwrap(type: z.core.$ZodType): Unwrapped {
  if (type instanceof z.ZodDefault) {
    return { ...unwrap(type.def.innerType), isRequired: false, default: type.def.defaultValue };
  }
  if (type instanceof z.ZodOptional) return { ...unwrap(type.def.innerType), isRequired: false };
  if (type instanceof z.ZodNullable) return unwrap(type.def.innerType);
  return { type, isRequired: true, default: undefined };
}

/** Every setting of a process, in the order of its schema. Objects are opened; a list is one setting. */
export function settingsOf({ schema, prefix }: SettingsShape): readonly Setting[] {
  return leavesOf(schema, [], true).map(({ path, type, isRequired, default: fallback }) => ({
    name: path.join("."),
    path,
    variable: prefix + path.join("__").toUpperCase(),
    isText: type instanceof z.ZodString || type instanceof z.ZodEnum,
    isRequired,
    default: fallback,
  }));
}

type Leaf = Unwrapped & { readonly path: readonly string[] };

function leavesOf(schema: z.ZodObject, above: readonly string[], isAboveRequired: boolean): Leaf[] {
  return Object.entries<z.core.$ZodType>(schema.shape).flatMap(([key, declared]): Leaf[] => {
    const found = unwrap(declared);
    const path = [...above, key];
    const isRequired = found.isRequired && isAboveRequired;
    if (found.type instanceof z.ZodObject) return leavesOf(found.type, path, isRequired);
    return [{ ...found, path, isRequired }];
  });
}

/**
 * The settings of a process, checked and with defaults.
 * @throws SettingsError naming everything that is wrong
 */
export function readSettings<Schema extends z.ZodObject>(
  shape: SettingsShape<Schema>,
  source: SettingsSource,
): z.output<Schema> {
  const values = parseFile(source);
  const { used, faults } = setFromEnvironment(values, shape, source.environment);
  const result = shape.schema.safeParse(values, { error: wordsOf });
  if (result.success && faults.length === 0) return result.data;
  const wrong = (result.error?.issues ?? []).flatMap((issue) => faultsOf(issue, shape, used));
  throw new SettingsError([...faults, ...wrong.map((fault) => `${source.path}: ${fault}`)]);
}

/** What a value must be; undefined: as the schema says. */
function wordsOf(issue: z.core.$ZodRawIssue): string | undefined {
  const { code, input } = issue;
  if (input === undefined) return "is required";
  if (code === "invalid_type") return `${EXPECTED[String(issue.expected)] ?? String(issue.expected)} is expected`;
  if (code === "invalid_value") return oneOf(issue.values.map(String), input);
  return undefined;
}

/** `one of none, problems, all is expected; did you mean none?` */
function oneOf(words: readonly string[], given: unknown): string {
  const nearest = typeof given === "string" ? nearestName(given, words) : null;
  return `one of ${words.join(", ")} is expected${nearest === null ? "" : `; did you mean ${nearest}?`}`;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: "a text",
  number: "a number",
  int: "a whole number",
  boolean: "true or false",
  object: "a JSON object",
  array: "a list",
};

/** An issue of the schema, in lines. A setting whose variable cannot be read has its fault already. */
function faultsOf(issue: z.core.$ZodIssue, shape: SettingsShape, used: UsedVariables): readonly string[] {
  if (issue.code === "unrecognized_keys") {
    const { path, keys } = issue;
    return keys.map((key) => `${[...path, key].join(".")}: ${unknownName(nearestTo(key, path, shape))}`);
  }
  const name = issue.path.join(".");
  const variable = used.get(name);
  if (variable?.isRead === false) return [];
  const from = variable === undefined ? "" : ` (${variable.variable})`;
  return [`${name === "" ? "(whole file)" : name}${from}: ${issue.message}`];
}

/** The setting that was meant by a name in the object at `path`; null: nothing is near. */
function nearestTo(key: string, path: readonly PropertyKey[], shape: SettingsShape): string | null {
  const beside = nearestName(key, namesAt(shape.schema, path));
  if (beside !== null) return [...path, beside].join(".");
  // `listen_port` for what is `listen.port`.
  return path.length > 0
    ? null
    : nearestName(
        key,
        settingsOf(shape).map(({ name }) => name),
      );
}

/** The names that an object of the settings may have; empty for what is no object. */
function namesAt(schema: z.core.$ZodType, path: readonly PropertyKey[]): readonly string[] {
  const { type } = unwrap(schema);
  const [key, ...rest] = path;
  if (type instanceof z.ZodArray) return key === undefined ? [] : namesAt(type.def.element, rest);
  if (!(type instanceof z.ZodObject)) return [];
  const shape: Readonly<Record<string, z.core.$ZodType>> = type.shape;
  if (key === undefined) return Object.keys(shape);
  const inner = shape[String(key)];
  return inner === undefined ? [] : namesAt(inner, rest);
}

/** The parser's own message may quote the file, passwords included, so it is not repeated. */
function parseFile({ path, text }: SettingsSource): Values {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new SettingsError(`${path}: this is not JSON`);
  }
  if (!isValues(parsed)) throw new SettingsError(`${path}: one JSON object is expected`);
  const repeated = repeatedName(text);
  if (repeated !== null) throw new SettingsError(`${path}: ${repeated} stands there twice`);
  return parsed;
}

function isValues(value: unknown): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A name that one object of a JSON text has twice: parsers silently keep the last. null: none. */
function repeatedName(text: string): string | null {
  const open: Set<string>[] = [];
  for (const [token, quoted] of text.matchAll(/("(?:[^"\\]|\\.)*")(?:\s*:)?|[{}]/g)) {
    if (token === "{") open.push(new Set());
    else if (token === "}") open.pop();
    else if (quoted !== undefined && token.endsWith(":")) {
      const name = String(JSON.parse(quoted));
      if (open.at(-1)?.has(name) === true) return name;
      open.at(-1)?.add(name);
    }
  }
  return null;
}

/** By the name of their setting: the variables that are set, and whether they could be read. */
type UsedVariables = ReadonlyMap<string, { readonly variable: string; readonly isRead: boolean }>;

/** Overrides the values with the environment. */
function setFromEnvironment(
  values: Values,
  shape: SettingsShape,
  environment: SettingsSource["environment"],
): { readonly used: UsedVariables; readonly faults: readonly string[] } {
  const settings = settingsOf(shape);
  const byVariable = new Map(settings.map((setting) => [setting.variable, setting]));
  const used = new Map<string, { variable: string; isRead: boolean }>();
  const faults: string[] = [];
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || !variable.startsWith(shape.prefix)) continue;
    const setting = byVariable.get(variable);
    if (setting === undefined) {
      const rest = variable.slice(shape.prefix.length);
      const nearest = nearestName(
        rest,
        [...byVariable.keys()].map((known) => known.slice(shape.prefix.length)),
      );
      const meant = nearest === null ? null : `${shape.prefix}${nearest}`;
      faults.push(`environment: ${variable}: ${unknownName(meant)}`);
      continue;
    }
    const value = setting.isText ? text : parseValue(text);
    if (value === undefined) faults.push(`environment: ${variable} must be a number, null or other JSON`);
    else place(values, setting.path, value);
    used.set(setting.name, { variable, isRead: value !== undefined });
  }
  return { used, faults };
}

/** undefined: it is not JSON. */
function parseValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function place(values: Values, path: readonly string[], value: unknown): void {
  const [key = "", ...rest] = path;
  if (rest.length === 0) {
    values[key] = value;
    return;
  }
  const inner = values[key] ?? {};
  // A value that is not an object stays, for the schema to refuse.
  if (!isValues(inner)) return;
  values[key] = inner;
  place(inner, rest, value);
}
