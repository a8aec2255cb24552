import type { FaultyCluster } from "./faulty-cluster.ts";
import { never } from "./nemesis.ts";
import type { Nemesis, Roles } from "./nemesis.ts";

const SLOW = { delayMs: 120, bytesPerSecond: 200_000 };
const FAR_APART_MS = 40;

function onNetwork(name: string, change: (network: FaultyCluster["network"], roles: Roles) => void): Nemesis {
  return {
    name,
    missing: never,
    inject: async ({ network }, roles) => {
      change(network, roles);
      return async () => network.heal();
    },
  };
}

/** Faults of the links between control planes. */
export const NETWORK_NEMESES: readonly Nemesis[] = [
  onNetwork("the leader is alone", (network, { leader }) => network.partition([leader])),
  onNetwork("a follower is alone", (network, { followers: [follower] }) => network.partition([follower])),
  onNetwork("nobody reaches anybody", (network, { followers: [a, b] }) => {
    network.partition([a]);
    network.partition([b]);
  }),
  onNetwork("nobody hears the leader, which hears everybody", (network, { leader, followers }) => {
    for (const follower of followers) network.lose(leader, follower);
  }),
  onNetwork("the leader hears nobody, and everybody hears it", (network, { leader, followers }) => {
    for (const follower of followers) network.lose(follower, leader);
  }),
  onNetwork("one follower does not hear the leader", (network, { leader, followers: [follower] }) => {
    network.lose(leader, follower);
  }),
  onNetwork("the leader does not hear one follower", (network, { leader, followers: [follower] }) => {
    network.lose(follower, leader);
  }),
  onNetwork("the leader and one follower have lost each other, and the third has both", (network, roles) => {
    const [follower] = roles.followers;
    network.lose(roles.leader, follower);
    network.lose(follower, roles.leader);
  }),
  onNetwork("connections to the leader are reset", (network, { leader }) => network.cut([leader])),
  onNetwork("every connection is reset once", (network) => network.reset()),
  onNetwork("a follower is slow", (network, { followers: [follower] }) => network.slow(follower, SLOW)),
  onNetwork("the leader is slow", (network, { leader }) => network.slow(leader, SLOW)),
  onNetwork("all nodes are far apart", (network) => {
    for (const from of network.nodeIds) {
      for (const to of network.nodeIds) if (to !== from) network.set(from, to, { delayMs: FAR_APART_MS });
    }
  }),
];
