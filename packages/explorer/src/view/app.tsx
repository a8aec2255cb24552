import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import { parsePin } from "../check/trust.ts";
import { givenOf } from "../given/given.ts";
import { About } from "./about.tsx";
import { AlarmList } from "./alarm-list.tsx";
import { ConnectForm } from "./connect-form.tsx";
import { DropZone, GivenList } from "./given-files.tsx";
import { ExpectedFields, PinField, WitnessSwitch } from "./pin-field.tsx";
import { useWatch } from "./use-watch.ts";
import { Verdicts, isReadable, useGiven, useVerdicts } from "./verdicts.tsx";
import { WatchedLog } from "./watched-log.tsx";

const PARTS = {
  check: {
    word: "Check",
    title: "Check what you were sent",
    lead:
      "This page checks it by itself, on this machine. What you give it is sent to nobody, so it also works as a " +
      "file, with the network off.",
  },
  browse: {
    word: "Browse",
    title: "Watch the log",
    lead:
      "This page asks the node that it came from, verifies every head that it shows, and holds it against the one " +
      "before.",
  },
} as const;

type Part = keyof typeof PARTS;

interface PartsProps {
  readonly part: Part;
  readonly onPart: (part: Part) => void;
}

/** The two parts of the page. What is in one stays while the other is shown. */
function PartChoice({ part, onPart }: PartsProps): JSX.Element {
  return (
    <nav class="parts" aria-label="Parts of this page">
      {(Object.keys(PARTS) as Part[]).map((each) => (
        <button
          key={each}
          type="button"
          class="plain"
          aria-current={each === part ? "page" : undefined}
          onClick={() => onPart(each)}
        >
          {PARTS[each].word}
        </button>
      ))}
    </nav>
  );
}

export function App(): JSX.Element {
  const { items, add, remove, setIsFile } = useGiven();
  const [part, setPart] = useState<Part>("check");
  const [pinText, setPinText] = useState("");
  const [anchorText, setAnchorText] = useState("");
  const [hashText, setHashText] = useState("");
  const [requireWitnessed, setRequireWitnessed] = useState(false);
  const pin = useMemo(() => parsePin(pinText), [pinText]);
  const given = useMemo(() => items.map((item) => item.given), [items]);
  const names = useMemo(() => new Map(givenOf(given, "names").flatMap((one) => [...one.names])), [given]);
  const namesFrom = givenOf(given, "names")
    .map(({ name }) => name)
    .join(", ");
  const verdicts = useVerdicts({ given, pin, anchorText, hashText, requireWitnessed });
  const { watched, service, ...connection } = useWatch(pin);
  const expected = { anchorText, hashText, onAnchorText: setAnchorText, onHashText: setHashText };
  const isAnswerable = isReadable(anchorText) && isReadable(hashText);
  return (
    <>
      <header class="top">
        <p class="mark">Event anchoring · proof page</p>
        <PartChoice part={part} onPart={setPart} />
        <h1>{PARTS[part].title}</h1>
        <p class="lead">{PARTS[part].lead}</p>
      </header>
      <main>
        <AlarmList alarms={watched.alarms} />
        <div class="desk">
          {part === "check" ? (
            <section aria-labelledby="files">
              <h2 id="files">Files</h2>
              <DropZone onOffered={add} />
              <GivenList items={items} onRemove={remove} onReadAsFile={setIsFile} />
            </section>
          ) : (
            <ConnectForm phase={watched.phase} refusal={watched.refusal} {...connection} />
          )}
          <section aria-labelledby="trusted">
            <h2 id="trusted">Whom you trust</h2>
            <PinField text={pinText} pin={pin} onText={setPinText} />
            {part === "check" && <WitnessSwitch isOn={requireWitnessed} onChange={setRequireWitnessed} />}
            {part === "check" && <ExpectedFields {...expected} />}
          </section>
        </div>
        <div hidden={part !== "check"}>
          <Verdicts items={items} verdicts={verdicts} isAnswerable={isAnswerable} names={names} namesFrom={namesFrom} />
          <About />
        </div>
        <div hidden={part !== "browse"}>
          {service !== null && <WatchedLog service={service} watched={watched} names={names} namesFrom={namesFrom} />}
        </div>
      </main>
    </>
  );
}
