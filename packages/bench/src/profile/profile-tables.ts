/** A profile as tables. */
import { number } from "../report/cells.ts";
import type { Column, Table } from "../figures/table.ts";
import type { ProfileSummary, SelfTime } from "./cpu-profile.ts";

const COLUMNS: readonly Column[] = [
  { title: "µs/unit", width: 8 },
  { title: "share", width: 7 },
  { title: "self ms", width: 8 },
  { title: "function", width: 40, isText: true },
  { title: "where", width: 40, isText: true },
];

/**
 * By function and by file. Shares are of the time in which the thread had something to do.
 * @param units anchors, or answers, that the whole cluster gave in the meantime
 */
export function profileTables(name: string, summary: ProfileSummary, units: number, top: number): readonly Table[] {
  const { totalUs, idleUs, gcUs, nativeUs, functions, files } = summary;
  const busyUs = totalUs - idleUs;
  const cells = ({ name: what, place, us }: SelfTime): readonly string[] => [
    number(us / units),
    percent(us, busyUs),
    number(us / 1000),
    what,
    place,
  ];
  const apart = [
    { name: "(garbage collector)", place: "", us: gcUs },
    { name: "(native code, system calls)", place: "", us: nativeUs },
  ];
  const busy = `busy ${percent(busyUs, totalUs)} of ${(totalUs / 1e6).toFixed(1)} s`;
  const title = `${name}: ${busy}, ${number(busyUs / units)} µs for each of ${number(units)}`;
  return [
    {
      title,
      columns: COLUMNS,
      rows: [...apart, ...functions.slice(0, top)].map(cells),
    },
    {
      title: `${name}, by file`,
      columns: COLUMNS.slice(0, 3).concat({ title: "file", width: 60, isText: true }),
      rows: files.slice(0, top).map(cells),
    },
  ];
}

function percent(part: number, whole: number): string {
  return whole === 0 ? "–" : `${((part / whole) * 100).toFixed(1)} %`;
}
