import type { JudgedBy, Names } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeService, RecordList } from "../browse/node-service.ts";
import { RECORD_LISTS } from "../browse/node-service.ts";
import { proveAnchor } from "../browse/prove-anchor.ts";
import type { ProvedAnchor } from "../browse/prove-anchor.ts";
import { refusalText } from "../browse/refusal.ts";
import { HexForm, Proved } from "./anchor-search.tsx";
import { EntityLists } from "./entity-records.tsx";
import type { EntityRecords, ReadList } from "./entity-records.tsx";

const LISTS = Object.keys(RECORD_LISTS) as RecordList[];
const UNREAD: ReadList = { items: [], nextCursor: null, refusal: null };

/** The list with its next page. */
async function readOn(service: NodeService, entity: string, list: RecordList, before: ReadList): Promise<ReadList> {
  try {
    const { items, nextCursor } = await service.records(list, entity, before.nextCursor);
    return { items: [...before.items, ...items], nextCursor, refusal: null };
  } catch (error) {
    return { ...before, refusal: refusalText(error, service.hasKey) };
  }
}

interface QuestionsProps {
  readonly service: NodeService;
  /** null: by nothing yet, so no receipt has a verdict. */
  readonly judgedBy: JudgedBy | null;
  readonly names: Names;
  readonly namesFrom: string;
}

/** What a reader asks the node for: an anchor, or all records of an entity. */
export function NodeQuestions({ service, judgedBy, names, namesFrom }: QuestionsProps): JSX.Element {
  const [proved, setProved] = useState<ProvedAnchor | null>(null);
  const [records, setRecords] = useState<EntityRecords | null>(null);
  const prove = async (anchorId: string): Promise<void> => setProved(await proveAnchor(service, anchorId));
  const list = async (entity: string): Promise<void> => {
    const read = await Promise.all(
      LISTS.map(async (one) => [one, await readOn(service, entity, one, UNREAD)] as const),
    );
    setRecords({ entity, lists: Object.fromEntries(read) as EntityRecords["lists"] });
  };
  const more = async (one: RecordList): Promise<void> => {
    if (records === null) return;
    const next = await readOn(service, records.entity, one, records.lists[one]);
    setRecords({ ...records, lists: { ...records.lists, [one]: next } });
  };
  return (
    <section class="questions" aria-labelledby="questions">
      <h2 id="questions">Look up</h2>
      <div class="desk">
        <div>
          <HexForm id="anchor" label="An anchor, by its id" action="Show and check it" onAsk={(id) => void prove(id)} />
        </div>
        {service.hasKey && (
          <div>
            <HexForm
              id="entity"
              label="Claims and grants of an entity, by its fingerprint"
              action="List them"
              onAsk={(entity) => void list(entity)}
            />
          </div>
        )}
      </div>
      <div aria-live="polite">
        {proved !== null && <Proved proved={proved} judgedBy={judgedBy} names={names} namesFrom={namesFrom} />}
        {records !== null && (
          <EntityLists
            records={records}
            names={names}
            onProve={(anchorId) => void prove(anchorId)}
            onMore={(one) => void more(one)}
          />
        )}
      </div>
    </section>
  );
}
