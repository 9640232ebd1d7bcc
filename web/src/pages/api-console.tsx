import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from '../components/button.tsx';
import { Chip } from '../components/chip.tsx';
import { CodeArea } from '../components/code-area.tsx';
import { CopyButton } from '../components/copy-button.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { Card, Page } from '../components/page.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { TextField } from '../components/text-field.tsx';
import { formatCount, formatDuration } from '../format/numbers.ts';
import { parseJson } from '../format/parse-json.ts';
import { consoleUrl } from '../page-urls.ts';
import {
  type ApiOperation,
  type ConsoleReply,
  listApiOperations,
  type ParameterValues,
  toRequestPath,
  tryOperation,
} from '../server/api-console.ts';
import { useLoad } from '../server/load.ts';
import { organization } from '../server/session.ts';
import { useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/console.ts';
import { fill } from '../texts/format-text.ts';
import { rich } from '../texts/rich-text.ts';

/** Lines of the field of the body. */
const bodyLines = { min: 3, max: 20 } as const;
/** Longer replies are cut, because the browser would render them slowly. */
const shownUnitsMax = 100_000;

/** Page that sends requests to the API with the session of the user. The documentation links to it. */
export function ApiConsolePage() {
  const { query, route } = useLocation();
  const operations = useLoad(listApiOperations, []);
  const all = operations.data ?? [];
  const selected = all.find(({ id }) => id === query.operation) ?? all[0];
  return (
    <Page
      title={texts.apiConsole}
      subtitle={fill(texts.requestsRunWithYourSession, { name: organization.value?.name ?? '' })}
    >
      {operations.error !== null && operations.data === undefined ? (
        <LoadError error={operations.error} onRetry={operations.reload} />
      ) : selected === undefined ? (
        <SkeletonRows rows={8} />
      ) : (
        <Card>
          <div class="stack">
            <OperationField
              operations={all}
              selected={selected}
              onChoose={(id) => route(consoleUrl(id), true)}
            />
            <OperationForm key={selected.id} operation={selected} />
          </div>
        </Card>
      )}
    </Page>
  );
}

interface OperationFieldProps {
  readonly operations: readonly ApiOperation[];
  readonly selected: ApiOperation;
  readonly onChoose: (id: string) => void;
}

function OperationField({ operations, selected, onChoose }: OperationFieldProps) {
  const tags = [...new Set(operations.map(({ tag }) => tag))];
  return (
    <Field label={texts.operation}>
      {(control) => (
        <select {...control} value={selected.id} onChange={(event) => onChoose(event.currentTarget.value)}>
          {tags.map((tag) => (
            <optgroup key={tag} label={tag}>
              {operations
                .filter((each) => each.tag === tag)
                .map(({ id, summary }) => (
                  <option key={id} value={id}>
                    {summary}
                  </option>
                ))}
            </optgroup>
          ))}
        </select>
      )}
    </Field>
  );
}

function OperationForm({ operation }: { readonly operation: ApiOperation }) {
  const { id, tag, method, path, description, parameters, example } = operation;
  const [body, setBody] = useState(example);
  const examples = exampleValues(parameters);
  const [values, setValues] = useState(examples);
  const [reply, setReply] = useState<ConsoleReply | null>(null);
  const requestPath = toRequestPath(operation, values);
  const error = body === null ? null : parseJson(body).error;
  const isComplete = error === null && parameters.every((each) => each.in === 'query' || values[each.name]);
  const hasChanged = body !== example || parameters.some(({ name }) => values[name] !== examples[name]);
  const submission = useAsyncAction(async () => setReply(await tryOperation(requestPath, body)));
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        if (isComplete) submission.start();
      }}
    >
      <p>
        <code>
          {method} {parameters.length === 0 ? path : requestPath}
        </code>
      </p>
      <p class="muted">
        {toProse(description)} <a href={`/docs/api/${tag}#${id}`}>{texts.documentation}</a>
      </p>
      {parameters.map(({ name, in: place, description: hint }) => (
        <TextField
          key={name}
          label={place === 'path' ? fill(texts.nameInThePath, { name }) : name}
          hint={hint === '' ? undefined : toProse(hint)}
          required={place === 'path'}
          value={values[name] ?? ''}
          onChange={(value) => setValues({ ...values, [name]: value })}
        />
      ))}
      {body !== null && <BodyField body={body} error={error} onChange={setBody} />}
      <div class="row">
        <Button type="submit" tone="primary" busy={submission.isBusy} disabled={!isComplete}>
          {texts.sendRequest}
        </Button>
        {hasChanged && (
          <Button
            onClick={() => {
              setBody(example);
              setValues(examples);
            }}
          >
            {texts.restoreExample}
          </Button>
        )}
      </div>
      <ErrorMessage error={submission.error} />
      {reply !== null && <Reply reply={reply} />}
    </form>
  );
}

function exampleValues(parameters: ApiOperation['parameters']): ParameterValues {
  return Object.fromEntries(parameters.map(({ name, example }) => [name, example]));
}

interface BodyFieldProps {
  readonly body: string;
  readonly error: string | null;
  readonly onChange: (body: string) => void;
}

function BodyField({ body, error, onChange }: BodyFieldProps) {
  const lines = body.split('\n').length;
  return (
    <Field label={texts.requestBody} error={error}>
      {(control) => (
        <CodeArea
          control={control}
          rows={Math.max(bodyLines.min, Math.min(bodyLines.max, lines + 1))}
          value={body}
          onChange={onChange}
        />
      )}
    </Field>
  );
}

/** Text between backticks is code. */
function toProse(text: string) {
  return text.split('`').map((part, i) => (i % 2 === 1 ? <code key={i}>{part}</code> : part));
}

function Reply({ reply: { status, isOk, text, ms, headers } }: { readonly reply: ConsoleReply }) {
  const formatted = formatJson(text);
  const requestId = headers.get('x-request-id');
  return (
    <section class="stack" aria-label={texts.reply}>
      <div class="row between">
        <p class="row" role="status">
          <Chip tone={isOk ? 'good' : 'bad'}>{fill(texts.statusStatus, { status })}</Chip>
          <span class="muted number">{formatDuration(ms)}</span>
          {requestId !== null && (
            <span class="muted">
              {rich(texts.requestIdRequestId, { requestId: <code>{requestId}</code> })}
            </span>
          )}
        </p>
        <CopyButton text={formatted} label={texts.copyReply} />
      </div>
      <pre class="code" tabIndex={0}>
        {formatted.slice(0, shownUnitsMax)}
      </pre>
      {formatted.length > shownUnitsMax && (
        <p class="hint">
          {fill(texts.theFirstShownUnitsMaxCharactersAre, { shownUnitsMax: formatCount(shownUnitsMax) })}
        </p>
      )}
    </section>
  );
}

/** JSON with indentation; other text unchanged. */
function formatJson(text: string): string {
  const { value, error } = parseJson(text);
  return error === null ? JSON.stringify(value, null, 2) : text;
}
