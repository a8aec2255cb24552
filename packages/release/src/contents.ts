/** How a part belongs to an artefact, in the words of SPDX 2.3, section 11. */
export type Relation = "CONTAINS" | "DEPENDS_ON" | "BUILD_DEPENDENCY_OF";

/** What others have written and an artefact has in it, fetches when it is installed, or is built with. */
export interface Part {
  readonly registry: "npm" | "cargo" | "pypi" | "golang" | "deb" | "generic";
  /** As in a package URL: `debian/libc6`. */
  readonly name: string;
  /** null: whatever a range allows. */
  readonly version: string | null;
  /** The range, in the words of the registry; absent: any version, or the one above. */
  readonly range?: string;
  /** The end of its package URL, behind `?`. */
  readonly qualifiers?: string;
  /** An SPDX expression; null: nobody says. */
  readonly license: string | null;
  readonly relation: Relation;
}

/** Libraries of npm as parts of what they are in. */
export function npmParts(
  libraries: readonly { readonly name: string; readonly version: string; readonly license: string }[],
  relation: Relation = "CONTAINS",
): readonly Part[] {
  return libraries.map(({ name, version, license }) => ({
    registry: "npm",
    name,
    version,
    license: typeof license === "string" ? license : null,
    relation,
  }));
}
