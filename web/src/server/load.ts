import { type Inputs, useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { CallError, isAbort, isReachable, returns } from './call.ts';

export interface Loaded<T> {
  /** What was loaded last; undefined before the first time. It stays while it is loaded again. */
  readonly data: T | undefined;
  /** Why the last try failed; null when it did not. */
  readonly error: unknown;
  readonly isLoading: boolean;
  /** Loads again; what is there stays until the new comes. */
  readonly reload: () => void;
  /** Puts something in the place of what was loaded, for a change that this page made itself. */
  readonly replace: (data: T) => void;
}

interface State<T> {
  /** What it was loaded for. */
  readonly of: Inputs;
  readonly data: T | undefined;
  readonly error: unknown;
  readonly isLoading: boolean;
}

/** As long as nothing came: also what came for other inputs is nothing. */
function nothing<T>(of: Inputs): State<T> {
  return { of, data: undefined, error: null, isLoading: true };
}

function isOf({ of }: State<unknown>, inputs: Inputs): boolean {
  return of.length === inputs.length && of.every((each, i) => Object.is(each, inputs[i]));
}

/**
 * Loads for a page: at once, when one of `inputs` changes (then what was there goes away), and again by itself when the
 * server comes back after it gave no answer.
 */
export function useLoad<T>(load: (abort: AbortSignal) => Promise<T>, inputs: Inputs): Loaded<T> {
  const [kept, setState] = useState<State<T>>(() => nothing(inputs));
  const [round, setRound] = useState(0);
  const state = isOf(kept, inputs) ? kept : nothing<T>(inputs);
  const latest = useRef({ load, inputs });
  latest.current = { load, inputs };

  useEffect(() => {
    const abort = new AbortController();
    setState((before) => ({ ...(isOf(before, inputs) ? before : nothing<T>(inputs)), isLoading: true }));
    latest.current.load(abort.signal).then(
      (data) => {
        if (!abort.signal.aborted) setState({ of: inputs, data, error: null, isLoading: false });
      },
      (error: unknown) => {
        if (isAbort(error) || abort.signal.aborted) return;
        setState((before) => ({ ...before, error, isLoading: false }));
      },
    );
    return () => abort.abort();
  }, [...inputs, round]);

  const reload = useCallback(() => setRound((before) => before + 1), []);
  useReturn(state.error, reload);
  const replace = useCallback(
    (data: T) => setState({ of: latest.current.inputs, data, error: null, isLoading: false }),
    [],
  );
  const { data, error, isLoading } = state;
  return { data, error, isLoading, reload, replace };
}

/** Calls `again` when the server is back, if it gave no answer before. */
function useReturn(error: unknown, again: () => void): void {
  const back = returns.value;
  const seen = useRef(back);
  useEffect(() => {
    if (seen.current === back) return;
    seen.current = back;
    if (error instanceof CallError && error.status === 0) again();
  }, [back]);
}

export const pollMs = { busy: 1_000, longest: 10_000 } as const;

/**
 * Calls `look` again and again while the page is seen: every second while it says that something is under way, ever less
 * often (to 10 s) while nothing is. What it throws makes it wait longer and is for `look` itself to show.
 */
export function usePoll(look: (abort: AbortSignal) => Promise<'busy' | 'idle'>, inputs: Inputs): void {
  const latest = useRef(look);
  latest.current = look;
  useEffect(() => {
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let waitMs: number = pollMs.busy;
    const ask = async () => {
      clearTimeout(timer);
      if (document.hidden || abort.signal.aborted) return;
      const found = isReachable.peek()
        ? await latest.current(abort.signal).catch(() => 'idle' as const)
        : 'idle';
      if (abort.signal.aborted) return;
      waitMs = found === 'busy' ? pollMs.busy : Math.min(waitMs * 2, pollMs.longest);
      clearTimeout(timer);
      timer = setTimeout(() => void ask(), waitMs);
    };
    const onSight = () => {
      if (document.hidden) return;
      waitMs = pollMs.busy;
      void ask();
    };
    document.addEventListener('visibilitychange', onSight);
    timer = setTimeout(() => void ask(), pollMs.busy);
    return () => {
      abort.abort();
      clearTimeout(timer);
      document.removeEventListener('visibilitychange', onSight);
    };
  }, inputs);
}
