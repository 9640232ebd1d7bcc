/** Remembers what `open` opened, by `keyOf`; what failed to open is tried again by the next caller. */
export function openOnce<Model, T>(
  open: (model: Model) => Promise<T>,
  keyOf: (model: Model) => string,
): (model: Model) => Promise<T> {
  const opened = new Map<string, Promise<T>>();
  return (model) => {
    const key = keyOf(model);
    const known = opened.get(key);
    if (known !== undefined) return known;
    const opening = open(model).catch((error: unknown) => {
      opened.delete(key);
      throw error;
    });
    opened.set(key, opening);
    return opening;
  };
}
