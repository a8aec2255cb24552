#!/usr/bin/env node
import { RELEASE_RULES } from "@event-anchoring/ledger";
import { runProcess } from "./process/process.ts";

runProcess(RELEASE_RULES);
