import { PROCESS_NEMESES } from "@event-anchoring/testkit";
import { describeUnderFaults } from "./under-faults.ts";

describeUnderFaults("a cluster whose processes are killed and stand still", PROCESS_NEMESES);
