import { CheckpointError, NoteError, parseCheckpoint, parseNote } from "@event-anchoring/protocol";
import type { Checkpoint } from "@event-anchoring/protocol";

/** The checkpoint in a signed note, none of whose signatures is looked at; null: there is none. */
export function checkpointIn(note: string): Checkpoint | null {
  try {
    return parseCheckpoint(parseNote(note).text);
  } catch (error) {
    if (error instanceof NoteError || error instanceof CheckpointError) return null;
    throw error;
  }
}
