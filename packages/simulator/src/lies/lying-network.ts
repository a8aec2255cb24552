import type { PeerNetwork, PeerNetworkOptions } from "@event-anchoring/control-plane";
import type { Lie } from "./lie.ts";

/**
 * A node's network with its lies in front: they filter what the node receives, and replace what it sends.
 * @param lieOf null while it tells the truth
 */
export function lyingNetwork(
  options: PeerNetworkOptions,
  lieOf: () => Lie | null,
  open: (options: PeerNetworkOptions) => PeerNetwork,
): PeerNetwork {
  const network = open({
    ...options,
    onFrame: (from, lane, frame) => {
      const lie = lieOf();
      const heard = lie === null ? { frame, says: [] } : lie.onArriving(from, frame);
      for (const said of heard.says) say(said.to, lane, said.frame);
      if (heard.frame !== null) options.onFrame(from, lane, heard.frame);
    },
    hello: () => {
      const hello = options.hello();
      return hello === null ? null : (lieOf()?.onHello(hello) ?? hello);
    },
    judgeHello: (peer) => {
      const verdict = options.judgeHello(peer);
      return lieOf()?.onJudging(peer, verdict) ?? verdict;
    },
    onHelloRefused: (peer, refusal) => {
      if (lieOf()?.isDeaf !== true) options.onHelloRefused(peer, refusal);
    },
  });
  const say = network.send.bind(network);
  network.send = (to, lane, frame) => {
    const lie = lieOf();
    if (lie === null) return say(to, lane, frame);
    return lie.onLeaving(to, frame).every((each) => say(to, lane, each));
  };
  return network;
}
