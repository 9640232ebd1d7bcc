import { type Inputs, useEffect } from 'preact/hooks';
import { ApiError } from '../../server/api-call.ts';
import { type LoadState, useLoad } from '../../server/load.ts';

/** Loads data as `useLoad`; calls `onDenied` when the administrator is no longer signed in. */
export function useAdministratorLoad<T>(
  load: (abort: AbortSignal) => Promise<T>,
  inputs: Inputs,
  onDenied: () => void,
): LoadState<T> {
  const state = useLoad(load, inputs);
  const isDenied = state.error instanceof ApiError && state.error.status === 401;
  useEffect(() => {
    if (isDenied) onDenied();
  }, [isDenied]);
  return state;
}
