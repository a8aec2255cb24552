/** Gives a class of errors the name that it has here: a minifier renames classes, and leaves this name as it is. */
export function nameClass({ prototype }: { readonly prototype: Error }, name: string): void {
  Object.defineProperty(prototype, "name", { value: name, configurable: true, writable: true });
}
