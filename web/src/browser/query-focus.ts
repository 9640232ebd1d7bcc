import { signal } from '@preact/signals';

/** Number of requests to focus the field of the query. */
export const queryFocusRequests = signal(0);

let isPending = false;

/** Moves the focus to the field of the query on the search page, now or when it is opened. */
export function requestQueryFocus(): void {
  isPending = true;
  queryFocusRequests.value += 1;
}

/** Returns whether a request was made since the last call. */
export function takeQueryFocusRequest(): boolean {
  const wasPending = isPending;
  isPending = false;
  return wasPending;
}
