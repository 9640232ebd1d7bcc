import { ApiError, errorMessage } from '../server/api-call.ts';
import { texts } from '../texts/en/components.ts';
import { rich } from '../texts/rich-text.ts';
import { Button } from './button.tsx';

/** Message of an error; renders nothing without an error. */
export function ErrorMessage({ error }: { readonly error: unknown }) {
  if (error === null || error === undefined) return null;
  return (
    <p class="error-text" role="alert">
      {errorMessage(error)}
    </p>
  );
}

/** Placeholder for content that failed to load. */
export function LoadError({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const requestId = error instanceof ApiError ? error.requestId : null;
  return (
    <div class="empty-state" role="alert">
      <h2>{texts.loadingFailed}</h2>
      <p>{errorMessage(error)}</p>
      {requestId !== null && (
        <p class="hint">{rich(texts.requestIdRequestId, { requestId: <code>{requestId}</code> })}</p>
      )}
      <Button onClick={onRetry}>{texts.retry}</Button>
    </div>
  );
}
