import type { JSX } from "preact";
import type { Pin } from "../check/trust.ts";

interface PinFieldProps {
  readonly text: string;
  readonly pin: Pin;
  readonly onText: (text: string) => void;
}

const STATES: Readonly<Record<Pin["state"], string>> = {
  empty: "No pin yet: nothing here can be proved, and nothing turns green.",
  malformed: "This is not a RootTHK: it has 64 hex digits.",
  given: "Everything below is held against this pin.",
};

/** Where the reader says whom he trusts. */
export function PinField({ text, pin, onText }: PinFieldProps): JSX.Element {
  return (
    <div class="pin">
      <label for="pin">Pin: the RootTHK, 64 digits</label>
      <textarea
        id="pin"
        rows={2}
        spellcheck={false}
        autocomplete="off"
        aria-describedby="pin-state pin-why"
        aria-invalid={pin.state === "malformed"}
        value={text}
        onInput={(event) => onText(event.currentTarget.value)}
      />
      <p id="pin-state" class={`pin-state is-${pin.state}`} role="status">
        {STATES[pin.state]}
      </p>
      <p id="pin-why" class="quiet">
        The hash of the trust root, which says whose signatures count. Take it from people you trust, by another way
        than these files: printed, read out, in a contract. Whoever forges the files can send a trust root of his own,
        and the hash that fits it.
      </p>
    </div>
  );
}

interface WitnessSwitchProps {
  readonly isOn: boolean;
  readonly onChange: (isOn: boolean) => void;
}

/** Whether the word of the cluster's own nodes is enough. */
export function WitnessSwitch({ isOn, onChange }: WitnessSwitchProps): JSX.Element {
  return (
    <div class="demand">
      <label for="witnessed">
        <input
          id="witnessed"
          type="checkbox"
          aria-describedby="witnessed-why"
          checked={isOn}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />{" "}
        Demand witnesses
      </label>
      <p id="witnessed-why" class="quiet">
        The nodes of a cluster certify a tree. Witnesses outside of it say that they have seen no other one. With this,
        only what enough of them have signed turns green.
      </p>
    </div>
  );
}

interface ExpectedProps {
  readonly anchorText: string;
  readonly hashText: string;
  readonly onAnchorText: (text: string) => void;
  readonly onHashText: (text: string) => void;
}

/** What else a reader may know. */
export function ExpectedFields({ anchorText, hashText, onAnchorText, onHashText }: ExpectedProps): JSX.Element {
  return (
    <details class="expected">
      <summary>More to compare with</summary>
      <label for="expected-hash">SHA-256 of the file, if you cannot give the file itself</label>
      <input
        id="expected-hash"
        type="text"
        spellcheck={false}
        autocomplete="off"
        value={hashText}
        onInput={(event) => onHashText(event.currentTarget.value)}
      />
      <label for="expected-anchor">Anchor id that you expect</label>
      <input
        id="expected-anchor"
        type="text"
        spellcheck={false}
        autocomplete="off"
        value={anchorText}
        onInput={(event) => onAnchorText(event.currentTarget.value)}
      />
    </details>
  );
}
