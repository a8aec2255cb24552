/** The things that were given, with their bytes: a reader may say of each that it is the event itself. */
import type { Given } from "./given.ts";
import { FILE_BYTES_MAX, recognise } from "./recognise.ts";

/** A thing that was given, and how it was read. */
export interface GivenItem {
  readonly id: number;
  readonly name: string;
  /** Null: it was not read, so nothing is hashed. */
  readonly bytes: Uint8Array | null;
  /** The reader says that it is the event itself. */
  readonly isFile: boolean;
  /** A receipt of its name is beside it. Of a bundle that says, as to the command, that it is what was anchored. */
  readonly isAnchored: boolean;
  readonly given: Given;
}

/** What is to be read: bytes, or why there are none. */
export interface Offered {
  /** Null: it was pasted. */
  readonly name: string | null;
  readonly bytes: Uint8Array | "too_large" | "unreadable";
}

const UNREAD: Readonly<Record<"too_large" | "unreadable", { readonly code: string; readonly detail: string }>> = {
  too_large: {
    code: "file_too_large",
    detail: "too large to be hashed here: take its SHA-256 with sha256sum, and type that in",
  },
  unreadable: { code: "file_unreadable", detail: "cannot be read; if it is a folder, drop its files" },
};

/** Reads what was dropped or chosen. */
export async function offeredOf(file: Pick<File, "name" | "size" | "arrayBuffer">): Promise<Offered> {
  const { name, size } = file;
  if (size > FILE_BYTES_MAX) return { name, bytes: "too_large" };
  try {
    return { name, bytes: new Uint8Array(await file.arrayBuffer()) };
  } catch {
    // A browser gives a folder as a file, and refuses to read it.
    return { name, bytes: "unreadable" };
  }
}

export function itemOf({ name, bytes }: Offered & { readonly name: string }, id: number): GivenItem {
  const base = { id, name, isFile: false, isAnchored: false };
  if (typeof bytes !== "string") return { ...base, bytes, given: recognise({ name, bytes, isFile: false }) };
  const given: Given = { kind: "broken", name, size: 0, meant: "file", ...UNREAD[bytes] };
  return { ...base, bytes: null, given };
}

/** The item read as the event itself, or as what it looks like. What was not read stays unread. */
export function readAsFile(item: GivenItem, isFile: boolean): GivenItem {
  const { name, bytes, isAnchored } = item;
  if (bytes === null) return item;
  return { ...item, isFile, given: recognise({ name, bytes, isFile: isFile || isAnchored }) };
}

/** Bundles whose own receipts are among the items are read as files, and as bundles again once those are gone. */
export function withReceipts(items: readonly GivenItem[]): readonly GivenItem[] {
  const names = new Set(items.filter(({ isFile }) => !isFile).map(({ name }) => name));
  return items.map((item) => {
    const isAnchored = item.name.endsWith(".bundle.json") && names.has(`${item.name}.tlog-proof`);
    return isAnchored === item.isAnchored ? item : readAsFile({ ...item, isAnchored }, item.isFile);
  });
}
