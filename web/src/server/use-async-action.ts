import { useRef, useState } from 'preact/hooks';

export interface AsyncAction {
  readonly isBusy: boolean;
  /** Why the last try failed; null when it did not. */
  readonly error: unknown;
  /** Starts, unless it is under way. */
  readonly start: () => void;
}

/** Something that a button or a form starts, once at a time. */
export function useAsyncAction(action: () => Promise<unknown>): AsyncAction {
  const [isBusy, setBusy] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const running = useRef(false);
  const start = () => {
    if (running.current) return;
    running.current = true;
    setBusy(true);
    setError(null);
    action()
      .catch(setError)
      .finally(() => {
        running.current = false;
        setBusy(false);
      });
  };
  return { isBusy, error, start };
}
