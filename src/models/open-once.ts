/** Remembers what `open` opened, by id; what failed to open is tried again by the next caller. */
export function openOnce<T>(open: (id: string) => Promise<T>): (id: string) => Promise<T> {
  const opened = new Map<string, Promise<T>>();
  return (id) => {
    const known = opened.get(id);
    if (known !== undefined) return known;
    const opening = open(id).catch((error: unknown) => {
      opened.delete(id);
      throw error;
    });
    opened.set(id, opening);
    return opening;
  };
}
