/** RFC 3339 times to and from Unix milliseconds, without a clock: the civil-calendar arithmetic is spelled out. */

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/** Days from 1970-01-01 to a date of the proleptic Gregorian calendar. Years are counted from March, so that the leap
 * day is the last of its year. */
function daysFromCivil(year: number, month: number, day: number): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * ((month + 9) % 12) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

function civilFromDays(days: number): { year: number; month: number; day: number } {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

function daysOfMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/** Dates that do not exist, leap seconds and times before 1970 are refused beside it. */
export const RFC_3339 = new RegExp(
  "^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.]([0-9]{1,9}))?" +
    "(?:([Zz])|([+-])([0-9]{2}):([0-9]{2}))$",
);

/**
 * Unix milliseconds of a time with offset; digits beyond milliseconds are cut off.
 * @returns null for anything else: no offset, no such day, a leap second, a time before 1970
 */
export function parseRfc3339(text: string): number | null {
  const match = RFC_3339.exec(text);
  if (match === null) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const offsetHour = Number(match[10] ?? 0);
  const offsetMinute = Number(match[11] ?? 0);
  if (month < 1 || month > 12 || day < 1 || day > daysOfMonth(year, month)) return null;
  if (hour > 23 || minute > 59 || second > 59 || offsetHour > 23 || offsetMinute > 59) return null;
  const millisecond = Number((match[7] ?? "").slice(0, 3).padEnd(3, "0"));
  const local =
    daysFromCivil(year, month, day) * DAY_MS + (hour * 60 + minute) * MINUTE_MS + second * 1000 + millisecond;
  const offset = (offsetHour * 60 + offsetMinute) * MINUTE_MS * (match[9] === "-" ? -1 : 1);
  const time = local - offset;
  return time < 0 ? null : time;
}

function digits(value: number, width: number): string {
  return String(value).padStart(width, "0");
}

/** Milliseconds of the last moment RFC 3339 can write, 9999-12-31T23:59:59.999Z. */
export const RFC_3339_MS_MAX = 253_402_300_799_999;

/**
 * RFC 3339 in UTC with three decimals and `Z`.
 * @throws RangeError unless 0 ≤ timeMs ≤ RFC_3339_MS_MAX, an integer
 */
export function formatRfc3339(timeMs: number): string {
  if (!Number.isInteger(timeMs) || timeMs < 0 || timeMs > RFC_3339_MS_MAX) {
    throw new RangeError(`no RFC 3339 time has ${timeMs} ms`);
  }
  const { year, month, day } = civilFromDays(Math.floor(timeMs / DAY_MS));
  const inDay = timeMs % DAY_MS;
  const hour = Math.floor(inDay / 3_600_000);
  const minute = Math.floor(inDay / MINUTE_MS) % 60;
  const second = Math.floor(inDay / 1000) % 60;
  const date = `${digits(year, 4)}-${digits(month, 2)}-${digits(day, 2)}`;
  return `${date}T${digits(hour, 2)}:${digits(minute, 2)}:${digits(second, 2)}.${digits(inDay % 1000, 3)}Z`;
}
