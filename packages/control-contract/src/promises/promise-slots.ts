/** Finds the slot of a promise file that counts. */
import { SLOT_CLASS_MAX, readSlot, slotBytesOf, slotOffsetOf } from "./promise-codec.ts";
import type { Promises, SlotReading } from "./promise-codec.ts";

export interface SlotPosition {
  readonly slotClass: number;
  readonly slot: 0 | 1;
}

/** `torn`: no slot can be read. `foreign`: not a promise file, or the format of another build. */
export type NewestSlot =
  | {
      readonly state: "good";
      readonly position: SlotPosition;
      readonly counter: number;
      readonly promises: Promises;
      /**
       * One of the two newest slots could not be read: either a save never resolved, or up to one save is forgotten.
       */
      readonly hasDamagedSlot: boolean;
    }
  | { readonly state: "torn" | "foreign"; readonly detail: string };

interface PlacedReading {
  readonly position: SlotPosition;
  readonly reading: SlotReading;
}

/** @param bytes everything that the file holds */
export function newestSlot(bytes: Uint8Array): NewestSlot {
  if (bytes.length === 0) return { state: "torn", detail: "the promise file is empty" };
  const readings = readSlots(bytes);
  // Reading an older slot instead would forget what the other build promised.
  if (readings.some(({ reading }) => reading.state === "unknown_format")) {
    return { state: "foreign", detail: "the promise file was written by another build" };
  }
  let newest: { position: SlotPosition; counter: number; promises: Promises } | null = null;
  for (const { position, reading } of readings) {
    if (reading.state !== "good" || (newest !== null && reading.counter <= newest.counter)) continue;
    newest = { position, counter: reading.counter, promises: reading.promises };
  }
  if (newest === null) return unreadable(readings);
  const { slotClass } = newest.position;
  const hasDamagedSlot = readings.some(
    ({ reading, position }) =>
      (reading.state === "damaged" || reading.state === "alien") && position.slotClass >= slotClass,
  );
  return { state: "good", ...newest, hasDamagedSlot };
}

function unreadable(readings: readonly PlacedReading[]): NewestSlot {
  const states = new Set(readings.map(({ reading }) => reading.state));
  const isAllAlien = states.has("alien") && !states.has("damaged");
  if (isAllAlien) return { state: "foreign", detail: "this is not a promise file" };
  return { state: "torn", detail: "no slot of the promise file can be read" };
}

function readSlots(bytes: Uint8Array): PlacedReading[] {
  const readings: PlacedReading[] = [];
  for (let slotClass = 0; slotClass <= SLOT_CLASS_MAX; slotClass++) {
    for (const slot of [0, 1] as const) {
      const offset = slotOffsetOf(slotClass, slot);
      if (offset >= bytes.length) return readings;
      const reading = readSlot(bytes.subarray(offset, offset + slotBytesOf(slotClass)));
      readings.push({ position: { slotClass, slot }, reading });
    }
  }
  return readings;
}
