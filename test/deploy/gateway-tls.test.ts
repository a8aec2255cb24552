import { createServer } from "node:https";
import type { Server } from "node:https";
import { createServer as createPlainServer } from "node:http";
import type { Server as PlainServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, describe, expect, test } from "@jest/globals";
import { createCertificateAuthority, issueCertificate } from "@event-anchoring/provision";
import type { IssuedCertificate } from "@event-anchoring/provision";
import { until } from "@event-anchoring/testkit";
import { GatewayClient } from "./gateway-client.ts";
import { GATEWAY_NOTE, GatewayProcess, isGatewayThere } from "@event-anchoring/testkit/gateway";

// What the gateway makes of servers that stand where nodes should be: requests carry API keys, and go to none of them.

const describeWithGateway = isGatewayThere ? describe : describe.skip;
const DAY_MS = 86_400_000;
const CLUSTER_ID = new Uint8Array(32).fill(7);
const servers: (Server | PlainServer)[] = [];
/** The servers that were asked for anything, by name. */
const reached = new Set<string>();

afterAll(async () => {
  for (const server of servers) server.closeAllConnections();
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
});

/** @param tls null: plain HTTP */
async function serve(name: string, tls: IssuedCertificate | null): Promise<string> {
  const answer: Parameters<typeof createPlainServer>[1] = (_request, response) => {
    reached.add(name);
    response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({ name }));
  };
  const server =
    tls === null
      ? createPlainServer(answer)
      : createServer({ cert: tls.certificatePem, key: tls.privateKeyPem }, answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describeWithGateway(`between gateway and nodes${GATEWAY_NOTE}`, () => {
  test("only an api process of the cluster is spoken to", async () => {
    const nowMs = Date.now();
    const ours = await createCertificateAuthority("gateway.test", nowMs);
    const theirs = await createCertificateAuthority("gateway.test", nowMs);
    const issue = (authority: IssuedCertificate, role: "api" | "node", id: string): Promise<IssuedCertificate> =>
      issueCertificate(authority, { role, clusterId: CLUSTER_ID, id }, DAY_MS, nowMs);
    const good = await serve("good", await issue(ours, "api", "n1"));
    const others = [
      await serve("another cluster's", await issue(theirs, "api", "n2")),
      await serve("a node's own", await issue(ours, "node", "n3")),
      await serve("plain", null),
    ];
    for (const other of others) {
      const gateway = await GatewayProcess.start({ nodes: [good, other, other], nodesCa: ours.certificatePem });
      const client = new GatewayClient(gateway);
      await until("the gateway takes the good one for ready", async () => (await gateway.readyNodes()) === 1);
      for (let at = 0; at < 8; at++) {
        const answer = await client.ask({ method: "GET", path: "/v1/limits" });
        expect([answer.status, JSON.parse(answer.text)]).toEqual([200, { name: "good" }]);
      }
      client.close();
      await gateway.stop();
    }
    expect(reached).toEqual(new Set(["good"]));
  }, 60_000);
});
