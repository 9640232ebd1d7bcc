import { useEffect, useRef, useState } from 'preact/hooks';
import type { ModelDetails } from '../../../../src/schemas/models.ts';
import { Button } from '../../components/button.tsx';
import { ErrorMessage } from '../../components/error-message.tsx';
import { Field } from '../../components/field.tsx';
import { Card } from '../../components/page.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatCount, formatDuration, formatScore } from '../../format/numbers.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts as modelTexts } from '../../texts/en/models.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import { scoreTexts, type TextScores } from './text-scores.ts';

const textsMax = 20;
/** Components of a vector that are shown. */
const shownComponents = 8;

const sampleQuery: string = modelTexts.howLongDoRefundsTake;
const sampleTexts = [
  modelTexts.refundsArePaidWithin14,
  modelTexts.moneyBackUsuallyArrivesAfter,
  modelTexts.theGullSitsOnThe,
].join('\n');

interface ModelTrialProps {
  readonly models: readonly ModelDetails[];
  /** Model to try; null for the first reranker. */
  readonly first: string | null;
  /** Called after a trial, which changes the latency of the models. */
  readonly onDone: () => void;
}

interface TrialResult {
  readonly texts: readonly string[];
  readonly columns: readonly TextScores[];
}

/** Form that scores texts with one model, or with two side by side. */
export function ModelTrial({ models, first, onDone }: ModelTrialProps) {
  const initial = first ?? models.find(({ kind }) => kind === 'reranker')?.id ?? models[0]?.id ?? '';
  const [chosen, setChosen] = useState<ChosenModels>([initial, '']);
  const [query, setQuery] = useState(sampleQuery);
  const [text, setText] = useState(sampleTexts);
  const [result, setResult] = useState<TrialResult | null>(null);
  const texts = toTexts(text);
  const trial = useAsyncAction(async () => {
    const columns: TextScores[] = [];
    // One after the other, so that the times can be compared.
    for (const id of new Set(chosen)) {
      const model = models.find((each) => each.id === id);
      if (model !== undefined) columns.push(await scoreTexts(model, { query, texts }));
    }
    setResult({ texts, columns });
    onDone();
  });
  return (
    <Card title={modelTexts.tryAModel}>
      <form
        class="stack"
        onSubmit={(event) => {
          event.preventDefault();
          trial.start();
        }}
      >
        <ModelChoice models={models} chosen={chosen} onChange={setChosen} />
        <TextFields query={query} onQuery={setQuery} text={text} onText={setText} hasFocus={first !== null} />
        <ErrorMessage error={trial.error} />
        <div class="row">
          <Button type="submit" tone="primary" busy={trial.isBusy} disabled={texts.length === 0}>
            {modelTexts.scoreTexts}
          </Button>
        </div>
      </form>
      {result !== null && <Scores {...result} />}
    </Card>
  );
}

function toTexts(lines: string): string[] {
  return lines
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .slice(0, textsMax);
}

/** The model to try, and the model to compare it with; empty for none. */
type ChosenModels = readonly [model: string, other: string];

interface ModelChoiceProps {
  readonly models: readonly ModelDetails[];
  readonly chosen: ChosenModels;
  readonly onChange: (chosen: ChosenModels) => void;
}

function ModelChoice({ models, chosen: [model, other], onChange }: ModelChoiceProps) {
  return (
    <div class="toolbar">
      <ModelSelect
        label={modelTexts.model}
        models={models}
        value={model}
        onChange={(id) => onChange([id, other])}
      />
      <ModelSelect
        label={modelTexts.compareWith}
        emptyLabel={modelTexts.noComparison}
        models={models}
        value={other}
        onChange={(id) => onChange([model, id])}
      />
    </div>
  );
}

interface TextFieldsProps {
  readonly query: string;
  readonly onQuery: (query: string) => void;
  /** One text per line. */
  readonly text: string;
  readonly onText: (text: string) => void;
  /** Whether the query gets the focus at first. */
  readonly hasFocus: boolean;
}

function TextFields({ query, onQuery, text, onText, hasFocus }: TextFieldsProps) {
  const queryInput = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (hasFocus) queryInput.current?.focus();
  }, []);
  return (
    <>
      <Field label={modelTexts.query}>
        {(control) => (
          <input
            {...control}
            ref={queryInput}
            required
            value={query}
            onInput={(event) => onQuery(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field
        label={modelTexts.texts}
        hint={fill(modelTexts.oneTextPerLineAt, { textsMax: formatCount(textsMax) })}
      >
        {(control) => (
          <textarea
            {...control}
            required
            rows={4}
            value={text}
            onInput={(event) => onText(event.currentTarget.value)}
          />
        )}
      </Field>
    </>
  );
}

interface ModelSelectProps {
  readonly label: string;
  /** Label of the choice of no model; absent if a model is required. */
  readonly emptyLabel?: string;
  readonly models: readonly ModelDetails[];
  readonly value: string;
  readonly onChange: (id: string) => void;
}

function ModelSelect({ label, emptyLabel, models, value, onChange }: ModelSelectProps) {
  const optionsOf = (kind: ModelDetails['kind']) =>
    models.flatMap((model) =>
      model.kind === kind
        ? [
            <option key={model.id} value={model.id}>
              {model.id}
            </option>,
          ]
        : [],
    );
  return (
    <Field label={label}>
      {(control) => (
        <select {...control} value={value} onChange={(event) => onChange(event.currentTarget.value)}>
          {emptyLabel !== undefined && <option value="">{emptyLabel}</option>}
          <optgroup label={modelTexts.rerankersRelevance}>{optionsOf('reranker')}</optgroup>
          <optgroup label={modelTexts.embeddingModelsSimilarity}>{optionsOf('embedding')}</optgroup>
        </select>
      )}
    </Field>
  );
}

interface ScoredText {
  readonly index: number;
  readonly text: string;
}

function Scores({ texts, columns }: TrialResult) {
  const [main] = columns;
  const rows = texts
    .map((text, index) => ({ index, text }))
    .sort((a, b) => (main?.scores[b.index] ?? 0) - (main?.scores[a.index] ?? 0));
  const tableColumns: readonly TableColumn<ScoredText>[] = [
    { title: modelTexts.text, cell: ({ text }) => text },
    ...columns.map(({ model, scores }) => ({
      title: model,
      isNumber: true,
      width: '9rem',
      cell: ({ index }: ScoredText) => (
        <span class="score">
          <span>
            <strong>{`#${rankOf(scores, index)}`}</strong>{' '}
            <span class="muted">{formatScore(scores[index] ?? 0)}</span>
          </span>
          <span class="level" aria-hidden="true">
            <span style={{ width: `${Math.round(100 * shareOfRange(scores, index))}%` }} />
          </span>
        </span>
      ),
    })),
  ];
  return (
    <div class="trial-result" role="status">
      <Table
        caption={modelTexts.scores}
        columns={tableColumns}
        rows={rows}
        keyOf={({ index }) => String(index)}
      />
      {columns.length > 1 && <p class="hint">{modelTexts.scoresOfDifferentModelsCannot}</p>}
      {columns.map((column) => (
        <Summary key={column.model} column={column} />
      ))}
    </div>
  );
}

/** Position of a text when all are sorted by score, from 1. */
function rankOf(scores: readonly number[], index: number): number {
  return 1 + scores.filter((score) => score > (scores[index] ?? 0)).length;
}

/** Place of a score between the lowest and the highest one of its model, from 0 to 1. */
function shareOfRange(scores: readonly number[], index: number): number {
  const [lowest, highest] = [Math.min(...scores), Math.max(...scores)];
  return highest === lowest ? 1 : ((scores[index] ?? lowest) - lowest) / (highest - lowest);
}

function Summary({ column: { model, ms, vector } }: { readonly column: TextScores }) {
  const preview = vector?.slice(0, shownComponents).map((value) => value.toFixed(3));
  return (
    <p class="hint">
      {rich(modelTexts.modelMsFromTheRequest, { model: <strong>{model}</strong>, ms: formatDuration(ms) })}
      {vector !== null && (
        <>
          {rich(modelTexts.vectorOfTheQueryLength, {
            length: formatCount(vector.length),
            preview: <code>[{preview?.join(', ')}, …]</code>,
          })}
        </>
      )}
    </p>
  );
}
