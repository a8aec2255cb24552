/**
 * The columns of a table, each named once: lists for `unnest`, result rows, and rows packed into bytes are made from
 * them, so that no two lists have to agree by position.
 */
import type { ByteReader } from "@event-anchoring/protocol";
import {
  bigintArray,
  byteaArray,
  prefix4Array,
  prefixArray,
  smallintArray,
  textArray,
} from "../postgres/binary-array.ts";
import type { Parameter } from "../postgres/connection.ts";

export interface Column<Value> {
  readonly name: string;
  readonly type: "bigint" | "integer" | "smallint" | "bytea" | "text";
  /** A list of values, as the server accepts it. */
  toArray(values: readonly Value[]): Buffer;
}

/** A column whose value can be among the packed bytes of a row. */
export interface PackedColumn<Value> extends Column<Value> {
  /** Its bytes, as SQL. */
  readonly pack: (column: string) => string;
  readonly unpack: (reader: ByteReader) => Value;
}

/** The column of each field of a row. */
export type Columns<Row> = { readonly [Field in keyof Row]: Column<Row[Field]> };
export type PackedColumns<Row> = { readonly [Field in keyof Row]: PackedColumn<Row[Field]> };

export function bigint(name: string): PackedColumn<number> {
  return {
    name,
    type: "bigint",
    toArray: bigintArray,
    pack: (column) => `int8send(${column})`,
    unpack: (reader) => reader.u64(),
  };
}

/** Packed, null is 0, and everything else is one higher. */
export function bigintOrNull(name: string): PackedColumn<number | null> {
  return {
    name,
    type: "bigint",
    toArray: bigintArray,
    pack: (column) => `int8send(coalesce(${column} + 1, 0))`,
    unpack: (reader) => {
      const value = reader.u64();
      return value === 0 ? null : value - 1;
    },
  };
}

/** 32 bytes: a hash or a key. */
export function bytes32(name: string): PackedColumn<Uint8Array> {
  return { name, type: "bytea", toArray: byteaArray, pack: (column) => column, unpack: (reader) => reader.bytes(32) };
}

export function bytea(name: string): Column<Uint8Array | null> {
  return { name, type: "bytea", toArray: byteaArray };
}

/** The first 8 bytes of each value. */
export function prefix(name: string): Column<Uint8Array | null> {
  return { name, type: "bigint", toArray: prefixArray };
}

/** Four bytes of each value. */
export function prefix4(name: string): Column<Uint8Array | null> {
  return { name, type: "integer", toArray: prefix4Array };
}

export function smallint(name: string): Column<number> {
  return { name, type: "smallint", toArray: smallintArray };
}

export function text(name: string): Column<string | null> {
  return { name, type: "text", toArray: textArray };
}

function listOf<Row>(columns: Columns<Row>): readonly Column<unknown>[] {
  return Object.values<Column<unknown>>(columns);
}

/**
 * A part of a GuardedStatement that inserts the rows of ArraysOf. In FROM, `unnest` would gather all rows before the
 * first is inserted: in the select list, 1,000 leaves take 0.9 of that time.
 * @param conflict its ON CONFLICT, as SQL
 */
export function insertOf<Row>(table: string, columns: Columns<Row>, conflict = ""): string {
  const all = listOf(columns);
  const names = all.map(({ name }) => name).join(", ");
  const values = all.map(({ type }) => `unnest(?::${type}[])`).join(", ");
  return `INSERT INTO ${table} (${names})
      SELECT ${values} FROM guard ${conflict}`;
}

/** A part that updates the rows of ArraysOf, found by the column `key`. */
export function updateOf<Row>(table: string, columns: Columns<Row>, key: keyof Row & string): string {
  const all = listOf(columns);
  const names = all.map(({ name }) => name);
  const keyName = columns[key].name;
  const values = names.filter((name) => name !== keyName).map((name) => `${name} = u.${name}`);
  return `UPDATE ${table} AS t SET ${values.join(", ")}
      FROM guard, unnest(${all.map(({ type }) => `?::${type}[]`).join(", ")}) AS u (${names.join(", ")})
      WHERE t.${keyName} = u.${keyName}`;
}

/**
 * One list a column.
 * @param given values of fields that the rows do not have themselves, parallel to the rows
 */
export type ArraysOf<Row> = <Given extends Partial<{ readonly [Field in keyof Row]: readonly Row[Field][] }>>(
  rows: readonly Omit<Row, keyof Given>[],
  given: Given,
) => Parameter[];

export function arraysOf<Row>(columns: Columns<Row>): ArraysOf<Row> {
  const all = Object.entries<Column<unknown>>(columns);
  return (rows, given) => {
    const lists: Readonly<Record<string, readonly unknown[] | undefined>> = given;
    return all.map(([field, column]) =>
      column.toArray(lists[field] ?? rows.map((row) => (row as Readonly<Record<string, unknown>>)[field])),
    );
  };
}

/** A column list whose result rows have the field names. @param alias of the table */
export function selectOf<Row>(alias: string, columns: Columns<Row>): string {
  return Object.entries<Column<unknown>>(columns)
    .map(([field, { name }]) => `${alias}.${name} AS "${field}"`)
    .join(", ");
}

/** The bytes of a row, as SQL. */
export function packedOf<Row>(alias: string, columns: PackedColumns<Row>): string {
  return Object.values<PackedColumn<unknown>>(columns)
    .map(({ name, pack }) => pack(`${alias}.${name}`))
    .join(" || ");
}

/** Reads the bytes of a row. Rows are copies of one object, and have its shape: thousands are read in one go. */
export function unpackerOf<Row>(columns: PackedColumns<Row>): (reader: ByteReader) => Row {
  const all = Object.entries<PackedColumn<unknown>>(columns);
  const shape: Record<string, unknown> = {};
  for (const [field] of all) shape[field] = null;
  return (reader) => {
    const row = { ...shape };
    for (const [field, { unpack }] of all) row[field] = unpack(reader);
    return row as Row;
  };
}
