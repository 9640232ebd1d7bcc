import { useRef, useState } from 'preact/hooks';

export interface AsyncAction {
  readonly isBusy: boolean;
  /** Error of the last run; null if it succeeded. */
  readonly error: unknown;
  /** Starts the action unless it is running. */
  readonly start: () => void;
}

/** Action started by a button or form, at most one run at a time. */
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
