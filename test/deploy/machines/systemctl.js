#!/usr/bin/env node
/**
 * What the page asks of systemd, in a namespace that has none: it reads the units as they were installed and starts
 * their programs under their accounts, with their folders. `enable` begins no timer.
 */
import { spawn, spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

const POSTGRES = /^postgresql@(\d+)-(\w+)$/;
const STOP_MS_MAX = 60_000;

function must(program, ...args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) throw new Error(`${program} ${args.join(" ")} ended with ${status}`);
}

/** The values of a name in the unit's [Service] section. */
function readUnit(name) {
  const lines = readFileSync(`/etc/systemd/system/${name}.service`, "utf8").split("\n");
  return (field) => lines.flatMap((line) => (line.startsWith(`${field}=`) ? [line.slice(field.length + 1)] : []));
}

function makeFolders(unit, owner) {
  for (const [kind, base] of [
    ["RuntimeDirectory", "/run"],
    ["StateDirectory", "/var/lib"],
  ]) {
    const [mode = "0755"] = unit(`${kind}Mode`);
    for (const name of unit(kind).flatMap((names) => names.split(" "))) {
      mkdirSync(`${base}/${name}`, { recursive: true });
      must("chown", owner, `${base}/${name}`);
      chmodSync(`${base}/${name}`, Number.parseInt(mode, 8));
    }
  }
}

const groupId = (name) => spawnSync("getent", ["group", name], { encoding: "utf8" }).stdout.split(":")[2];

/** @returns the program with its arguments, under the unit's account and with nothing but the unit's environment */
function commandOf(unit) {
  const [user] = unit("User");
  const [group] = unit("Group");
  const more = unit("SupplementaryGroups").map(groupId);
  const [command] = unit("ExecStart");
  const environment = ["PATH=/usr/local/bin:/usr/bin:/bin", ...unit("Environment")];
  const groups = more.length === 0 ? ["--clear-groups"] : ["--groups", more.join(",")];
  const account = ["--reuid", user, "--regid", group, ...groups, "--no-new-privs"];
  return ["setpriv", ...account, "env", "-i", ...environment, ...command.split(" ")];
}

function start(name) {
  const [, version, cluster] = POSTGRES.exec(name) ?? [];
  if (version !== undefined) return must("pg_ctlcluster", version, cluster, "start");
  const unit = readUnit(name);
  makeFolders(unit, `${unit("User")[0]}:${unit("Group")[0]}`);
  const [program, ...args] = commandOf(unit);
  process.umask(Number.parseInt(unit("UMask")[0], 8));
  const log = openSync(`/var/log/${name}.log`, "a");
  const options = { stdio: ["ignore", log, log], cwd: "/" };
  if (unit("Type")[0] === "oneshot") {
    const { status } = spawnSync(program, args, options);
    if (status !== 0) throw new Error(`${name} ended with ${status}: ${readFileSync(`/var/log/${name}.log`, "utf8")}`);
    return undefined;
  }
  const child = spawn(program, args, { ...options, detached: true });
  child.unref();
  writeFileSync(`/run/${name}.pid`, String(child.pid));
  return undefined;
}

const isRunning = (pid) => {
  try {
    return !/^\d+ \(.*\) Z/u.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // There is no such process any more.
    return false;
  }
};

async function stop(name) {
  const [, version, cluster] = POSTGRES.exec(name) ?? [];
  if (version !== undefined) return must("pg_ctlcluster", version, cluster, "stop");
  const file = `/run/${name}.pid`;
  if (!existsSync(file)) return undefined;
  const pid = Number(readFileSync(file, "utf8"));
  if (isRunning(pid)) process.kill(pid, "SIGTERM");
  const endMs = Date.now() + STOP_MS_MAX;
  while (isRunning(pid)) {
    if (Date.now() > endMs) throw new Error(`${name} does not stop`);
    await delay(50);
  }
  rmSync(file);
  return undefined;
}

async function main([verb, ...words]) {
  if (verb === "daemon-reload") return;
  if (!["enable", "start", "restart", "stop"].includes(verb)) throw new Error(`no verb of this stand-in: ${verb}`);
  const names = words.filter((word) => word !== "--now");
  for (const name of names.filter((each) => each.endsWith(".timer"))) {
    if (!existsSync(`/etc/systemd/system/${name}`)) throw new Error(`there is no ${name}`);
  }
  const services = names.filter((name) => !name.endsWith(".timer"));
  if (verb === "restart" || verb === "stop") for (const name of services) await stop(name);
  if (verb === "restart" || verb === "start" || words.includes("--now")) services.forEach(start);
}

await main(process.argv.slice(2));
