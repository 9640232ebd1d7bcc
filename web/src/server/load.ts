import { type Inputs, useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, isAbortError, isReachable, reconnectCount } from './api-call.ts';

export interface LoadState<T> {
  /** Last loaded data; undefined before the first load. It is kept during reloads. */
  readonly data: T | undefined;
  /** Error of the last attempt; null if it succeeded. */
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Loads again; existing data is kept until the new data arrives. */
  readonly reload: () => void;
  /** Replaces the loaded data, for a change that this page made itself. */
  readonly replace: (data: T) => void;
}

interface StoredState<T> {
  /** Inputs for which the data was loaded. */
  readonly inputs: Inputs;
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
}

/** State before any data is loaded. Data of other inputs counts as none. */
function emptyState<T>(loadedInputs: Inputs): StoredState<T> {
  return { inputs: loadedInputs, data: undefined, error: null, isLoading: true };
}

function isLoadedFor({ inputs: loadedInputs }: StoredState<unknown>, inputs: Inputs): boolean {
  return loadedInputs.length === inputs.length && loadedInputs.every((each, i) => Object.is(each, inputs[i]));
}

/**
 * Loads data for a page: on mount, when one of `inputs` changes (existing data is dropped), and after the
 * server becomes reachable again following an attempt without a reply.
 */
export function useLoad<T>(load: (abort: AbortSignal) => Promise<T>, inputs: Inputs): LoadState<T> {
  const [storedState, setState] = useState<StoredState<T>>(() => emptyState(inputs));
  const [round, setRound] = useState(0);
  const state = isLoadedFor(storedState, inputs) ? storedState : emptyState<T>(inputs);
  const latest = useRef({ load, inputs });
  latest.current = { load, inputs };

  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({
      ...(isLoadedFor(before, inputs) ? before : emptyState<T>(inputs)),
      isLoading: true,
    }));
    latest.current.load(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setState({ inputs, data, error: null, isLoading: false });
      },
      (error: unknown) => {
        if (isAbortError(error) || abort.signal.aborted) return;
        setState((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [...inputs, round]);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  useReconnect(state.error, reload);
  const replace = useCallback(
    (data: T) => setState({ inputs: latest.current.inputs, data, error: null, isLoading: false }),
    [],
  );
  const { data, error, isLoading } = state;
  return { data, error, isLoading, reload, replace };
}

/** Calls `reload` when the server is reachable again, if the last attempt had no reply. */
function useReconnect(error: unknown, reload: () => void): void {
  const count = reconnectCount.value;
  const handledCount = useRef(count);
  useEffect(() => {
    if (handledCount.current === count) return;
    handledCount.current = count;
    if (error instanceof ApiError && error.status === 0) reload();
  }, [count]);
}

export const pollMs = { busy: 1_000, max: 10_000 } as const;

/**
 * Calls `poll` repeatedly while the page is visible: every second while it returns `busy`, at increasing intervals
 * (up to 10 s) while it returns `idle`. An error increases the interval; `poll` itself must show it.
 */
export function usePoll(poll: (abort: AbortSignal) => Promise<'busy' | 'idle'>, inputs: Inputs): void {
  const latest = useRef(poll);
  latest.current = poll;
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs: number = pollMs.busy;
    const pollOnce = async () => {
      clearTimeout(timer);
      if (document.hidden || abort.signal.aborted) return;
      const found = isReachable.peek()
        ? await latest.current(abort.signal).catch(() => 'idle' as const)
        : 'idle';
      if (abort.signal.aborted) return;
      waitMs = found === 'busy' ? pollMs.busy : Math.min(waitMs * 2, pollMs.max);
      clearTimeout(timer);
      timer = setTimeout(() => void pollOnce(), waitMs);
    };
    const onVisible = () => {
      if (document.hidden) return;
      waitMs = pollMs.busy;
      void pollOnce();
    };
    document.addEventListener('visibilitychange', onVisible);
    timer = setTimeout(() => void pollOnce(), pollMs.busy);
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onVisible);
    };
  }, inputs);
}
