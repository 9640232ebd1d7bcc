import { administrationUrl } from '../page-urls.ts';
import { isAdministratorSignedIn } from '../server/administrator-session.ts';
import { ApiError, errorMessage } from '../server/api-call.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/components.ts';
import { fill } from '../texts/format-text.ts';
import { rich } from '../texts/rich-text.ts';
import { Button, LinkButton } from './button.tsx';
import { CopyButton } from './copy-button.tsx';
import { requestIdOf, useLoadScope, useSharedFailure, useSharedFailures } from './load-scope.tsx';

/** Message of an error; renders nothing without an error. */
export function ErrorMessage({ error }: { readonly error: unknown }) {
  if (error === null || error === undefined) return null;
  return (
    <p class="error-text" role="alert">
      {errorMessage(error)}
    </p>
  );
}

interface LoadErrorProps {
  readonly error: unknown;
  readonly onRetry: () => void;
}

/**
 * Placeholder for content that failed to load, with the name of that content: a panel for a page or a dialog, one line
 * for a card. If several parts of the page failed for the same reason, the page shows the reason once.
 */
export function LoadError({ error, onRetry }: LoadErrorProps) {
  const scope = useLoadScope();
  const isShared = useSharedFailure(error, onRetry);
  if (isShared) return <FailureLine text={failureTitle(scope?.kind === 'page' ? scope.name : undefined)} />;
  if (scope?.kind === 'card')
    return <FailureLine text={errorMessage(error)} error={error} onRetry={onRetry} />;
  return <FailurePanel title={failureTitle(scope?.name)} error={error} onRetry={onRetry} />;
}

function failureTitle(name: string | undefined): string {
  return name === undefined ? texts.loadingFailed : fill(texts.nameCouldNotBeLoaded, { name });
}

interface FailureLineProps {
  readonly text: string;
  /** Undefined if the page shows the reason. */
  readonly error?: unknown;
  readonly onRetry?: () => void;
}

function FailureLine({ text, error, onRetry }: FailureLineProps) {
  return (
    <div class="failure-line" role={onRetry === undefined ? undefined : 'alert'}>
      <Icon name="warning" />
      <p>
        {text} <RequestId error={error} />
      </p>
      {onRetry !== undefined && <Button onClick={onRetry}>{texts.retry}</Button>}
    </div>
  );
}

function FailurePanel({ title, error, onRetry }: LoadErrorProps & { readonly title: string }) {
  const requestId = requestIdOf(error);
  const mayBeServer = error instanceof ApiError && error.status >= 500;
  return (
    <div class="failure-panel" role="alert">
      <Icon name="warning" />
      <div>
        <h2>{title}</h2>
        <p>{errorMessage(error)}</p>
        <p class="hint">
          <RequestId error={error} />
        </p>
        <div class="row">
          <Button tone="primary" onClick={onRetry}>
            {texts.retry}
          </Button>
          {requestId !== null && <CopyButton text={requestId} label={texts.copyRequestId} />}
          {mayBeServer && isAdministratorSignedIn.value && (
            <LinkButton href={administrationUrl('health')}>{texts.openHealth}</LinkButton>
          )}
        </div>
      </div>
    </div>
  );
}

function RequestId({ error }: { readonly error: unknown }) {
  const requestId = requestIdOf(error);
  return requestId === null ? null : (
    <span class="hint">{rich(texts.requestIdRequestId, { requestId: <code>{requestId}</code> })}</span>
  );
}

/** Failures that several parts of the page have in common, each with one button that loads all of them again. */
export function SharedFailures() {
  return useSharedFailures().map((failures) => {
    const error = failures[0]?.error;
    return (
      <FailurePanel
        key={errorMessage(error)}
        title={texts.partsOfThisPageCould}
        error={error}
        onRetry={() => {
          for (const { retry } of failures) retry();
        }}
      />
    );
  });
}
