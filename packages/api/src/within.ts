/** What a promise leads to, or `late` if that is not known in time. */
export function within<T, const L>(promise: Promise<T>, timeoutMs: number, late: L): Promise<T | L> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late), timeoutMs);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
