import { STORAGE_NEMESES } from "@event-anchoring/testkit";
import { describeUnderFaults } from "./under-faults.ts";

describeUnderFaults("a cluster whose databases and disks fail", STORAGE_NEMESES);
