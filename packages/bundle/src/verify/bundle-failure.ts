/** Ends the verification of a bundle at the check that is under way. */
export class BundleFailure extends Error {
  constructor(detail: string) {
    super(detail);
    this.name = "BundleFailure";
  }
}

export function failUnless(condition: boolean, detail: string): asserts condition {
  if (!condition) throw new BundleFailure(detail);
}
