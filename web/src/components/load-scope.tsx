import { type Signal, useSignal } from '@preact/signals';
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';
import { ApiError, errorMessage } from '../server/api-call.ts';

/** Content of a page, of one of its cards, or of a dialog. It names itself in the message if it cannot be loaded. */
interface LoadScope {
  readonly name: string;
  readonly kind: 'page' | 'card' | 'dialog';
  /** What could not be loaded, of the whole page or of the dialog. */
  readonly failures: Signal<readonly LoadFailure[]>;
}

export interface LoadFailure {
  readonly message: string;
  readonly error: unknown;
  readonly retry: () => void;
}

const ScopeContext = createContext<LoadScope | null>(null);

interface LoadScopeProviderProps {
  readonly name: string;
  readonly kind: LoadScope['kind'];
  readonly children: ComponentChildren;
}

export function LoadScopeProvider({ name, kind, children }: LoadScopeProviderProps) {
  const outer = useContext(ScopeContext);
  const own = useSignal<readonly LoadFailure[]>([]);
  const failures = kind === 'card' && outer !== null ? outer.failures : own;
  return <ScopeContext.Provider value={{ name, kind, failures }}>{children}</ScopeContext.Provider>;
}

export function useLoadScope(): LoadScope | null {
  return useContext(ScopeContext);
}

/** Adds a failure to those of the page while mounted. Returns whether others failed for the same reason. */
export function useSharedFailure(error: unknown, onRetry: () => void): boolean {
  const failures = useContext(ScopeContext)?.failures;
  const latestRetry = useRef(onRetry);
  latestRetry.current = onRetry;
  const message = errorMessage(error);
  useEffect(() => {
    if (failures === undefined) return;
    const failure: LoadFailure = { message, error, retry: () => latestRetry.current() };
    failures.value = [...failures.peek(), failure];
    return () => {
      failures.value = failures.peek().filter((each) => each !== failure);
    };
  }, [failures, message]);
  return failures !== undefined && isShared(failures.value, message);
}

function isShared(failures: readonly LoadFailure[], message: string): boolean {
  return failures.filter((each) => each.message === message).length > 1;
}

/** Failures of several parts of the page for the same reason, by that reason. */
export function useSharedFailures(): readonly (readonly LoadFailure[])[] {
  const failures = useContext(ScopeContext)?.failures.value ?? [];
  const messages = [...new Set(failures.map(({ message }) => message))];
  return messages
    .filter((message) => isShared(failures, message))
    .map((message) => failures.filter((each) => each.message === message));
}

/** ID of the request that failed, if the server replied with one. */
export function requestIdOf(error: unknown): string | null {
  return error instanceof ApiError ? error.requestId : null;
}
