import { createServer } from "node:net";

/** All listeners are on loopback: nothing of an embedded cluster is reachable from another machine. */
export const LOOPBACK = "127.0.0.1";

export interface NodePorts {
  readonly api: number;
  readonly metrics: number;
  readonly control: number;
}

/** The first node's; those of the next nodes follow. Metrics are a hundred higher, control planes two hundred. */
export const FIRST_PORT = 7301;
const KINDS_APART = 100;
/** The highest first port that leaves room for the others. */
export const FIRST_PORT_MAX = 65_000;

/**
 * Ports of all nodes: those of the last run where they are free, the usual ones for a new cluster, and any free one in
 * place of one that is taken.
 */
export async function choosePorts(
  count: number,
  earlier: readonly (NodePorts | null)[],
  firstPort: number = FIRST_PORT,
): Promise<readonly NodePorts[]> {
  const chosen = new Set<number>();
  const choose = async (wanted: number): Promise<number> => {
    const port = !chosen.has(wanted) && (await isFree(wanted)) ? wanted : await anyFree(chosen);
    chosen.add(port);
    return port;
  };
  const ports: NodePorts[] = [];
  for (let i = 0; i < count; i++) {
    const before = earlier[i];
    ports.push({
      api: await choose(before?.api ?? firstPort + i),
      metrics: await choose(before?.metrics ?? firstPort + KINDS_APART + i),
      control: await choose(before?.control ?? firstPort + 2 * KINDS_APART + i),
    });
  }
  return ports;
}

async function isFree(port: number): Promise<boolean> {
  return (await listenOnce(port)) === port;
}

async function anyFree(chosen: ReadonlySet<number>): Promise<number> {
  for (;;) {
    const port = await listenOnce(0);
    if (port !== null && !chosen.has(port)) return port;
  }
}

/** The port that could be listened on; null if it is taken. */
function listenOnce(port: number): Promise<number | null> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(null));
    server.listen({ host: LOOPBACK, port, exclusive: true }, () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : null));
    });
  });
}
