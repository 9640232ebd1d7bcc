import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { playgroundOf } from '../addresses.ts';
import { isOneColumn } from '../browser/media.ts';
import { Blank } from '../parts/blank.tsx';
import { Button, LinkButton } from '../parts/button.tsx';
import { Check, Choice, Field } from '../parts/field.tsx';
import { Page } from '../parts/page.tsx';
import { SkeletonRows } from '../parts/skeleton.tsx';
import { NotLoaded, Trouble } from '../parts/trouble.tsx';
import { type Doing, useDoing } from '../server/doing.ts';
import { useLoad } from '../server/load.ts';
import { listModels } from '../server/retrieval.ts';
import { Answers } from './answers.tsx';
import { CodeDialog } from './code-dialog.tsx';
import { CollectionField, useCollection } from './collection-choice.tsx';
import { answerOf, ask, change, filterFault, most, noReranker, question } from './question.ts';
import { UnderWay, useProgress } from './under-way.tsx';

/** Ask, and see how the answer was found. */
export function Playground() {
  const { route } = useLocation();
  const { names, chosen } = useCollection();
  const [isCode, setCode] = useState(false);
  const answers = useRef<HTMLElement>(null);
  const doing = useDoing(async () => {
    if (chosen === null) return;
    await ask(chosen);
    // Below the form, nobody would see that they came.
    if (isOneColumn.peek()) answers.current?.scrollIntoView({ block: 'start' });
  });
  const found = answerOf(chosen);
  const left = useProgress(chosen)?.left;
  useAskedAgain(left, { isWanted: found?.results.length === 0, doing });
  const field = useRef<HTMLTextAreaElement>(null);
  if (names.error !== null && names.data === undefined)
    return (
      <Page title="Playground">
        <NotLoaded error={names.error} onRetry={names.reload} />
      </Page>
    );
  if (names.data?.length === 0)
    return (
      <Page title="Playground">
        <Blank
          title="There is nothing to ask yet"
          actions={
            <LinkButton href="/app/upload" tone="primary">
              Upload documents
            </LinkButton>
          }
        >
          Put documents in first; seconds later they can be asked.
        </Blank>
      </Page>
    );
  return (
    <Page
      title="Playground"
      lead="Ask in your own words, and see how each answer was found."
      // A keyboard that comes up by itself would hide half of a small screen.
      {...(isOneColumn.peek() ? {} : { start: field })}
      actions={
        <Button disabled={chosen === null} onClick={() => setCode(true)}>
          Copy as code
        </Button>
      }
    >
      <div class="playground">
        <Form
          doing={doing}
          field={field}
          collections={names.data ?? []}
          chosen={chosen}
          onChoose={(name) => route(playgroundOf(name), true)}
        />
        <section ref={answers} class="answers" aria-label="Answers" aria-busy={doing.isBusy}>
          <Trouble error={doing.error} />
          <UnderWay left={left} />
          {doing.isBusy && found === null ? (
            <SkeletonRows rows={4} />
          ) : (
            <Answers found={found} isOld={doing.isBusy} />
          )}
        </section>
      </div>
      {isCode && chosen !== null && <CodeDialog collection={chosen} onClose={() => setCode(false)} />}
    </Page>
  );
}

/** Who asked before the documents were there gets the answer when they are. */
function useAskedAgain(
  left: number | undefined,
  { isWanted, doing }: { readonly isWanted: boolean; readonly doing: Doing },
): void {
  const before = useRef(left);
  useEffect(() => {
    const hasEnded = left === 0 && before.current !== undefined && before.current > 0;
    before.current = left;
    if (hasEnded && isWanted) doing.start();
  }, [left]);
}

interface FormProps {
  readonly doing: Doing;
  readonly field: RefObject<HTMLTextAreaElement | null>;
  readonly collections: readonly string[];
  readonly chosen: string | null;
  readonly onChoose: (name: string) => void;
}

function Form({ doing, field, collections, chosen, onChoose }: FormProps) {
  const { query, kind } = question.value;
  const fault = filterFault(question.value.filter);
  const isReady = query.trim() !== '' && fault === null;
  const isEarly = useRef(false);
  const start = () => {
    if (!isReady) return;
    isEarly.current = chosen === null;
    if (chosen !== null) doing.start();
  };
  // Who asked before the collections were there is answered when they are.
  useEffect(() => {
    if (isEarly.current && chosen !== null) start();
  }, [chosen]);
  return (
    <form
      class="card question"
      onSubmit={(event) => {
        event.preventDefault();
        start();
      }}
    >
      <Field label="Question">
        {(names) => (
          <textarea
            {...names}
            ref={field}
            rows={3}
            maxLength={8_192}
            placeholder="How long do refunds take?"
            value={query}
            onInput={(event) => change({ query: event.currentTarget.value })}
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
              event.preventDefault();
              start();
            }}
          />
        )}
      </Field>
      <Choice
        legend="What to find"
        name="kind"
        value={kind}
        words={[
          ['snippets', 'Snippets'],
          ['pages', 'Pages'],
          ['documents', 'Documents'],
        ]}
        onChange={(next) => change({ kind: next, k: Math.min(question.value.k, most[next]) })}
      />
      <CollectionField names={collections} chosen={chosen} onChoose={onChoose} />
      <Button type="submit" tone="primary" class="wide" busy={doing.isBusy} disabled={!isReady}>
        Ask
      </Button>
      <Options fault={fault} />
    </form>
  );
}

function Options({ fault }: { readonly fault: string | null }) {
  const { kind, filter, latency, isPrecise } = question.value;
  return (
    <div class="options">
      <div class="pair">
        <ResultsField />
        <RerankerField />
      </div>
      <Field
        label="Filter by metadata"
        hint='Such as {"author": "Ada"}; empty for all documents.'
        error={fault}
      >
        {(names) => (
          <textarea
            {...names}
            class="mono"
            rows={2}
            spellcheck={false}
            placeholder='{"year": {"$gte": "2024"}}'
            value={filter}
            onInput={(event) => change({ filter: event.currentTarget.value })}
          />
        )}
      </Field>
      <div class="checks">
        {kind === 'snippets' && (
          <Check
            label="Precise"
            hint="About 200 characters instead of 2,000"
            checked={isPrecise}
            onChange={(precise) => change({ isPrecise: precise })}
          />
        )}
        <Check
          label="Search wider"
          hint="Better answers, later (latency_mode: high)"
          checked={latency === 'high'}
          onChange={(isHigh) => change({ latency: isHigh ? 'high' : 'low' })}
        />
      </div>
    </div>
  );
}

function ResultsField() {
  const { kind, k } = question.value;
  const bounded = (typed: number) => Math.max(1, Math.min(most[kind], Math.trunc(typed || 1)));
  return (
    <Field label="Results">
      {(names) => (
        <input
          {...names}
          type="number"
          min={1}
          max={most[kind]}
          value={k}
          onChange={(event) => change({ k: bounded(event.currentTarget.valueAsNumber) })}
        />
      )}
    </Field>
  );
}

/** Those that the server has, the operator's too; the chosen one also as long as they load. */
function RerankerField() {
  const models = useLoad(listModels, []);
  const { reranker } = question.value;
  const byItself = models.data?.default_reranker ?? null;
  const known = models.data?.rerankers ?? [];
  const isListed = reranker === '' || reranker === noReranker || known.includes(reranker);
  return (
    <Field label="Reranker" error={models.error === null ? null : 'They could not be listed.'}>
      {(names) => (
        <select
          {...names}
          value={reranker}
          onChange={(event) => change({ reranker: event.currentTarget.value })}
        >
          <option value="">{byItself === null ? 'None' : `As set: ${byItself}`}</option>
          {byItself !== null && <option value={noReranker}>None</option>}
          {[...(isListed ? [] : [reranker]), ...known].map((name) => (
            <option key={name} value={name}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}
