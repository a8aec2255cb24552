import { isoMs, named, reasonText } from "@event-anchoring/verdicts";
import type { Names } from "@event-anchoring/verdicts";
import type { JSX } from "preact";
import { MarkSign } from "./mark-sign.tsx";
import { RECORD_LISTS } from "../browse/node-service.ts";
import type { ListedRecord, RecordList } from "../browse/node-service.ts";

/** A list of an entity's records as far as it was read. */
export interface ReadList {
  readonly items: readonly ListedRecord[];
  /** null: there is no more at the moment. */
  readonly nextCursor: string | null;
  readonly refusal: string | null;
}

/** All lists of one entity. */
export interface EntityRecords {
  readonly entity: string;
  readonly lists: Readonly<Record<RecordList, ReadList>>;
}

const TITLES: Readonly<Record<RecordList, string>> = {
  claims: "Claims of it",
  granted: "What it grants",
  received: "What is granted to it",
};

const LISTS = Object.keys(RECORD_LISTS) as RecordList[];

interface RecordItemProps {
  readonly record: ListedRecord;
  readonly names: Names;
  readonly onProve: (anchorId: string) => void;
}

function RecordItem({ record: { anchor, ended }, names, onProve }: RecordItemProps): JSX.Element {
  const { anchorId, kind, sequence, acceptedMs, state } = anchor;
  return (
    <li class="listed">
      <MarkSign mark="skip" />
      <div>
        <button type="button" class="link" onClick={() => onProve(anchorId)}>
          {named(anchorId, names, kind)}
        </button>{" "}
        <b>{state}</b>
        <span class="quiet">
          {" "}
          sequence {sequence}, {isoMs(acceptedMs)}
        </span>
        {ended !== null && (
          <span class="why">
            {reasonText({ code: ended.code, anchorId: ended.endedBy, sequence: ended.sequence }, names)}
          </span>
        )}
      </div>
    </li>
  );
}

interface ListsProps {
  readonly records: EntityRecords;
  readonly names: Names;
  readonly onProve: (anchorId: string) => void;
  readonly onMore: (list: RecordList) => void;
}

/** Every claim and grant that the node lists, ended ones too. */
export function EntityLists({ records: { entity, lists }, names, onProve, onMore }: ListsProps): JSX.Element {
  return (
    <div class="lists">
      <p class="quiet">
        Records of {named(entity, names)} as the node lists them: nothing shows that none is missing, and the states are
        its word. Open one to have its receipt checked here.
      </p>
      {LISTS.map((list) => {
        const { items, nextCursor, refusal } = lists[list];
        return (
          <section key={list} aria-label={TITLES[list]}>
            <h3>{TITLES[list]}</h3>
            {refusal !== null && <p class="is-fail-text">{refusal}</p>}
            {refusal === null && items.length === 0 && <p class="quiet">None.</p>}
            <ol class="plain-list">
              {items.map((record) => (
                <RecordItem key={record.anchor.anchorId} record={record} names={names} onProve={onProve} />
              ))}
            </ol>
            {nextCursor !== null && (
              <button type="button" onClick={() => onMore(list)}>
                More
              </button>
            )}
          </section>
        );
      })}
    </div>
  );
}
