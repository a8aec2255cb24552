import { SettingsFaults } from "@event-anchoring/control-contract";
import { loadTls } from "../http/listener-tls.ts";
import { readConfig } from "./config.ts";

/**
 * What would keep this process from starting, found without starting it: reads the settings and all files that they
 * name. Nothing is listened on or connected to.
 * @returns a line for each fault
 */
export function checkStart(
  configPath: string,
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  const faults = new SettingsFaults();
  const tls = readConfig(configPath, environment, faults)?.tls ?? null;
  if (tls !== null) faults.take(() => loadTls(tls));
  return faults.all;
}
