import { CLOCK_NEMESES } from "@event-anchoring/testkit";
import { describeUnderFaults } from "./under-faults.ts";

describeUnderFaults("a cluster whose clocks jump", CLOCK_NEMESES);
