import { assertEd25519Canaries, nobleCrypto } from "@event-anchoring/protocol";
import { render } from "preact";
import { App } from "./view/app.tsx";

// A browser whose arithmetic is wrong must not judge anything.
assertEd25519Canaries(nobleCrypto.ed25519Verify);

const place = document.getElementById("page");
if (place !== null) {
  place.textContent = "";
  render(<App />, place);
}
// A file that is dropped beside its place would take the place of the page.
for (const kind of ["dragover", "drop"]) globalThis.addEventListener(kind, (event) => event.preventDefault());
