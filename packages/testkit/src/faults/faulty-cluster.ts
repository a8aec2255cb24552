import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestCluster } from "../cluster/test-cluster.ts";
import type { TestCluster } from "../cluster/test-cluster.ts";
import { FaultNetwork } from "./fault-network.ts";
import { FaultSwitches } from "./fault-switches.ts";
import type { ForgetfulDisks } from "./forgetful-disks.ts";
import { Keylog } from "./keylog.ts";
import { Recorder } from "./recorder.ts";
import { WireTap } from "./wire-tap.ts";

/** A real cluster whose network, clocks and disks can be made to fail, and whose nodes are overheard. */
export interface FaultyCluster extends TestCluster {
  readonly network: FaultNetwork;
  /** Null where this machine has none; `switchesMissing` says why. */
  readonly switches: FaultSwitches | null;
  readonly switchesMissing: string | null;
  readonly recorder: Recorder;
  readonly tap: WireTap;
  /** Ends everything, and deletes the cluster. */
  end(): Promise<void>;
}

const NODE_IDS = ["n1", "n2", "n3"];
/** What the paths of the files contain whose durability a node relies on. */
const FORGETTING = { postgres: "/postgres/", control_plane: "/promise", api: "/promise" } as const;

/** @param disks what its nodes write to, for power cuts; default: the disks of this machine */
export async function startFaultyCluster(disks: ForgetfulDisks | null = null): Promise<FaultyCluster> {
  const folder = mkdtempSync(join(tmpdir(), "anchoring-keylogs-"));
  const recorder = new Recorder();
  const keylogPath = (nodeId: string): string => join(folder, `${nodeId}.keys`);
  const keylogs = new Map(NODE_IDS.map((id) => [id, new Keylog(keylogPath(id))]));
  const keylogOf = (nodeId: string): Keylog => {
    const keylog = keylogs.get(nodeId);
    if (keylog === undefined) throw new Error(`${nodeId} writes no keylog`);
    return keylog;
  };
  const tap = new WireTap(keylogOf, (from, to, frame) => recorder.frame(from, to, frame));
  const network = await FaultNetwork.between(NODE_IDS, (dialler, listener) => tap.listen(dialler, listener));
  const made = FaultSwitches.make();
  const switches = made instanceof FaultSwitches ? made : null;
  const clear = async (): Promise<void> => {
    await network.close();
    switches?.close();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const setup = await startTestCluster({
      faultHooks: {
        dialledAddress: (from, to, listening) => network.dialledAddress(from, to, listening),
        environment: (nodeId, process) => {
          const switched = switches?.environment(`${nodeId} ${process}`) ?? {};
          const forgetting = disks?.environment(nodeId, FORGETTING[process]) ?? {};
          const libraries = [switched["LD_PRELOAD"], forgetting["LD_PRELOAD"]].filter((path) => path !== undefined);
          return {
            ...switched,
            ...forgetting,
            ...(libraries.length === 0 ? {} : { LD_PRELOAD: libraries.join(" ") }),
            ...(process === "control_plane" ? { NODE_OPTIONS: `--tls-keylog=${keylogPath(nodeId)}` } : {}),
          };
        },
      },
    });
    const end = async (): Promise<void> => {
      await setup.erase();
      await clear();
    };
    const switchesMissing = made instanceof FaultSwitches ? null : made.missing;
    return { ...setup, network, switches, switchesMissing, recorder, tap, end };
  } catch (error) {
    await clear();
    throw error;
  }
}
