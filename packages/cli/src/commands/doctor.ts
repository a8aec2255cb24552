import { examine } from "../doctor/examine.ts";
import type { Examination } from "../doctor/examine.ts";
import type { Host } from "../doctor/host.ts";
import { MISTAKES, jsonOf, lineOf } from "../doctor/mistakes.ts";
import type { Checked } from "../doctor/mistakes.ts";
import { EXIT } from "../terminal/cli-error.ts";
import type { ExitCode } from "../terminal/cli-error.ts";
import type { Printer } from "../terminal/printer.ts";

/** `anchorctl doctor`: looks at the host of a node, and names each mistake in one line with its page. */
export async function doctorCommand(
  examination: Examination,
  host: Host,
  isJson: boolean,
  printer: Printer,
): Promise<ExitCode> {
  const checks = await examine(host, examination);
  const levels = checks.flatMap(({ findings }) => findings.map(({ code }) => MISTAKES[code].level));
  const failures = levels.filter((level) => level === "fail").length;
  if (isJson) printer.json({ healthy: failures === 0, checks: checks.map(jsonOf) });
  else {
    for (const check of checks) printCheck(check, printer);
    const warnings = levels.length - failures;
    if (failures > 0)
      printer.verdict("fail", `${failures} to mend${warnings === 0 ? "" : `, ${warnings} to look at`}.`);
    else if (warnings > 0) printer.verdict("warn", `Nothing is wrong; ${warnings} to look at.`);
    else printer.verdict("pass", "Nothing is wrong.");
  }
  return failures === 0 ? EXIT.ok : EXIT.invalid;
}

function printCheck({ check, findings, good, notLookedAt }: Checked, printer: Printer): void {
  for (const found of findings) printer.check(MISTAKES[found.code].level, check, lineOf(found));
  if (findings.length === 0 && good !== "") printer.check("pass", check, good);
  if (notLookedAt !== null) printer.check("skip", check, `not looked at: ${notLookedAt}`);
}
