import { CallError, sentenceOf } from '../server/call.ts';
import { Button } from './button.tsx';

/** What went wrong, in the words of the server; nothing when nothing did. */
export function Trouble({ error }: { readonly error: unknown }) {
  if (error === null || error === undefined) return null;
  return (
    <p class="trouble" role="alert">
      {sentenceOf(error)}
    </p>
  );
}

/** In the place of what could not be loaded. */
export function NotLoaded({ error, onRetry }: { readonly error: unknown; readonly onRetry: () => void }) {
  const requestId = error instanceof CallError ? error.requestId : null;
  return (
    <div class="blank" role="alert">
      <h2>This could not be loaded</h2>
      <p>{sentenceOf(error)}</p>
      {requestId !== null && (
        <p class="hint">
          For the log of the server: request <code>{requestId}</code>
        </p>
      )}
      <Button onClick={onRetry}>Try again</Button>
    </div>
  );
}
