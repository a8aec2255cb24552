import { NETWORK_NEMESES } from "@event-anchoring/testkit";
import { describeUnderFaults } from "./under-faults.ts";

describeUnderFaults("a cluster whose network fails", NETWORK_NEMESES);
