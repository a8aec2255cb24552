import type { Names } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import type { NodeService } from "../browse/node-service.ts";
import type { Watched } from "../browse/watch.ts";
import { judgeTrustRoots } from "../check/judge-documents.ts";
import { HeadsList } from "./heads-list.tsx";
import { NodeQuestions } from "./node-questions.tsx";
import { NodeWord } from "./node-word.tsx";
import { VerdictCard } from "./verdict-card.tsx";

interface LogProps {
  readonly service: NodeService;
  readonly watched: Watched;
  readonly names: Names;
  readonly namesFrom: string;
}

/** The log of the node that the page came from, watched while the page is open. */
export function WatchedLog({ service, watched, names, namesFrom }: LogProps): JSX.Element {
  const { judgedBy, node } = watched;
  return (
    <div class="watched">
      <HeadsList watched={watched} />
      <NodeQuestions service={service} judgedBy={judgedBy} names={names} namesFrom={namesFrom} />
      {node !== null && <NodeWord word={node} />}
      {judgedBy !== null && (
        <section aria-labelledby="trust-root">
          <h2 id="trust-root">Trust root and its versions</h2>
          <VerdictCard
            judged={judgeTrustRoots("as this node shows it", judgedBy)}
            names={names}
            namesFrom={namesFrom}
          />
        </section>
      )}
    </div>
  );
}
