/** Prefix of the storage keys of search histories. */
export const historyKeyPrefix = 'quarry.history.';

/** Removes the search histories of all users: another person may use the browser next. */
export function removeHistories(): void {
  try {
    for (const key of Object.keys(window.localStorage))
      if (key.startsWith(historyKeyPrefix)) window.localStorage.removeItem(key);
  } catch {
    // Storage is disabled, so no history was stored.
  }
}
