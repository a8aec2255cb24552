import { holdVectorFiles } from "../../../test/vector-builders/hold-vector-files.ts";
import { spoolVectors } from "./recorder/spool-vectors.ts";

holdVectorFiles({ "spool.json": spoolVectors });
