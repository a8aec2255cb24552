/** How a process of a node is configured: a file that holds one JSON object and, over it, the environment. */
import { z } from "zod";

/** A setting is missing or wrong; the message names the setting and says what it must be, and holds no value. */
export class SettingsError extends Error {
  constructor(message: string, options?: { cause: unknown }) {
    super(message, options);
    this.name = "SettingsError";
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
  const variables = setFromEnvironment(values, shape, source.environment);
  const result = shape.schema.safeParse(values);
  if (result.success) return result.data;
  const wrong = result.error.issues.map(({ path, message }) => {
    const name = path.join(".");
    const variable = variables.get(name);
    return `${name === "" ? "(whole file)" : name}${variable === undefined ? "" : ` (${variable})`}: ${message}`;
  });
  throw new SettingsError(`${source.path}: ${wrong.join("; ")}`);
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

/** Overrides the values with the environment. Returns the variables used, by the name of their setting. */
function setFromEnvironment(
  values: Values,
  shape: SettingsShape,
  environment: SettingsSource["environment"],
): ReadonlyMap<string, string> {
  const byVariable = new Map(settingsOf(shape).map((setting) => [setting.variable, setting]));
  const used = new Map<string, string>();
  for (const [variable, text] of Object.entries(environment)) {
    if (text === undefined || !variable.startsWith(shape.prefix)) continue;
    const setting = byVariable.get(variable);
    if (setting === undefined) throw new SettingsError(`environment: there is no setting ${variable}`);
    place(values, setting.path, setting.isText ? text : parseValue(setting, text));
    used.set(setting.name, variable);
  }
  return used;
}

function parseValue({ variable }: Setting, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SettingsError(`environment: ${variable} must be a number, null or other JSON`);
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
