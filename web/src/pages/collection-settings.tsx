import { useState } from 'preact/hooks';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { Button } from '../components/button.tsx';
import { DescriptionList } from '../components/description-list.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { Field } from '../components/field.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { TextField } from '../components/text-field.tsx';
import { showToast } from '../components/toasts.tsx';
import { formatBytes, formatCount } from '../format/numbers.ts';
import { formatDateTime } from '../format/times.ts';
import { useLoad, usePoll } from '../server/load.ts';
import {
  changeModel,
  getCollectionInfo,
  getCollectionStatus,
  listModels,
  type QueryDefaults,
  updateCollection,
} from '../server/retrieval.ts';
import { type AsyncAction, useAsyncAction } from '../server/use-async-action.ts';
import { texts } from '../texts/en/collections.ts';
import { fill } from '../texts/format-text.ts';
import { rich } from '../texts/rich-text.ts';
import { HistoryForm } from './collection-history.tsx';

/** Model of collections whose vectors the caller sends. */
const ownVectors = 'own';

interface CollectionSettingsProps {
  readonly name: string;
  readonly onClose: () => void;
}

/** Details, model, history and query defaults of a collection. */
export function CollectionSettings({ name, onClose }: CollectionSettingsProps) {
  const status = useLoad((abort) => getCollectionStatus(name, abort), [name]);
  const info = useLoad(async (abort) => (await getCollectionInfo(name, abort)).collection, [name]);
  usePoll(
    async (abort) => {
      const found = await getCollectionStatus(name, abort);
      status.replace(found);
      return found.model_changes === undefined ? 'idle' : 'busy';
    },
    [name, status.data?.model_changes === undefined],
  );
  const error = status.error ?? info.error;
  return (
    <Dialog title={name} onClose={onClose}>
      {status.data === undefined || info.data === undefined ? (
        error === null ? (
          <SkeletonRows rows={8} />
        ) : (
          <LoadError error={error} onRetry={status.error === null ? info.reload : status.reload} />
        )
      ) : (
        <>
          <Details status={status.data} />
          <ModelForm name={name} status={status.data} onChanged={status.reload} />
          <HistoryForm
            key={info.data.history_days}
            name={name}
            saved={info.data.history_days}
            onSaved={() => {
              info.reload();
              status.reload();
            }}
          />
          <DefaultsForm
            name={name}
            saved={info.data.query_defaults ?? {}}
            onSaved={onClose}
            onClose={onClose}
          />
        </>
      )}
    </Dialog>
  );
}

const stateNames = { ready: texts.ready, loading: texts.loading, repairing: texts.beingRepaired } as const;

function Details({ status }: { readonly status: StatusResponse }) {
  const { details } = status;
  if (details === undefined) return null;
  return (
    <DescriptionList
      facts={[
        [texts.documents, formatCount(status.num_documents)],
        [texts.chunks, formatCount(details.num_chunks)],
        [texts.originalFiles, formatBytes(details.num_stored_bytes)],
        ...(details.num_history_bytes === undefined
          ? []
          : [[texts.oldVersions, formatBytes(details.num_history_bytes)] as const]),
        [
          texts.indexOnDisk,
          details.num_index_disk_bytes === 0
            ? texts.notWrittenYet
            : formatBytes(details.num_index_disk_bytes),
        ],
        [texts.indexInMemory, formatBytes(details.num_index_memory_bytes)],
        [texts.index, stateNames[details.index_state]],
        [texts.shards, formatCount(details.num_shards)],
        [texts.created, formatDateTime(details.created_at)],
      ]}
    />
  );
}

interface ModelFormProps {
  readonly name: string;
  readonly status: StatusResponse;
  readonly onChanged: () => void;
}

/** Changes the embedding model. The old vectors answer queries until all documents have new ones. */
function ModelForm({ name, status, onChanged }: ModelFormProps) {
  const current = status.embedding_model ?? '';
  const change = status.model_changes?.[0];
  const models = useLoad(listModels, []);
  const [chosen, setChosen] = useState<string | null>(null);
  const model = chosen ?? current;
  const submission = useAsyncAction(async () => {
    await changeModel(name, change === undefined ? model : current);
    setChosen(null);
    onChanged();
  });
  if (current === ownVectors) return <p class="hint">{texts.youSendTheVectorsOf}</p>;
  if (change !== undefined)
    return <ModelChangeProgress current={current} change={change} cancellation={submission} />;
  const names = models.data?.embedding_models ?? [];
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (model !== current) submission.start();
      }}
    >
      <Field label={texts.embeddingModel} hint={texts.aChangeComputesNewVectors}>
        {(control) => (
          <select {...control} value={model} onChange={(event) => setChosen(event.currentTarget.value)}>
            {[...new Set([current, ...names])].map((each) => (
              <option key={each} value={each}>
                {each}
              </option>
            ))}
          </select>
        )}
      </Field>
      <ErrorMessage error={submission.error ?? models.error} />
      {model !== current && (
        <div class="row">
          <Button type="submit" tone="primary" busy={submission.isBusy}>
            {texts.changeModel}
          </Button>
          <Button onClick={() => setChosen(null)}>{fill(texts.keepCurrent, { current })}</Button>
        </div>
      )}
    </form>
  );
}

interface ModelChangeProgressProps {
  readonly current: string;
  readonly change: NonNullable<StatusResponse['model_changes']>[number];
  readonly cancellation: AsyncAction;
}

function ModelChangeProgress({ current, change, cancellation }: ModelChangeProgressProps) {
  return (
    <div class="bulk-fields" role="status">
      <p>
        {rich(texts.changingTheModelFromCurrent, {
          current: <strong>{current}</strong>,
          embeddingModel: <strong>{change.embedding_model}</strong>,
        })}
      </p>
      <div class="bulk-progress">
        <progress
          max={Math.max(1, change.num_documents)}
          value={change.num_documents_done}
          aria-label={texts.documentsWithNewVectors}
        />
        <span class="muted number">
          {fill(texts.numDocumentsDoneOfNumDocuments, {
            numDocumentsDone: formatCount(change.num_documents_done),
            numDocuments: formatCount(change.num_documents),
          })}
        </span>
      </div>
      {change.waiting_for !== undefined && <p class="note warning">{change.waiting_for}</p>}
      <ErrorMessage error={cancellation.error} />
      <div class="row">
        <Button onClick={cancellation.start} busy={cancellation.isBusy}>
          {texts.cancelTheChange}
        </Button>
      </div>
    </div>
  );
}

interface DefaultsFormProps {
  readonly name: string;
  readonly saved: QueryDefaults;
  readonly onSaved: () => void;
  readonly onClose: () => void;
}

/** Fields as typed. An empty field has no default. */
interface DefaultsText {
  readonly lexical: string;
  readonly vector: string;
  readonly minScore: string;
  readonly perDocument: string;
}

/** Options that queries without them use. */
function DefaultsForm({ name, saved, onSaved, onClose }: DefaultsFormProps) {
  const [text, setText] = useState<DefaultsText>(() => ({
    lexical: toText(saved.weights?.lexical),
    vector: toText(saved.weights?.vector),
    minScore: toText(saved.min_score),
    perDocument: toText(saved.max_per_document),
  }));
  const submission = useAsyncAction(async () => {
    await updateCollection(name, toDefaults(text, saved));
    showToast(texts.queryDefaultsSaved);
    onSaved();
  });
  const field = (key: keyof DefaultsText, label: string, bounds: object, hint: string) => (
    <TextField
      label={label}
      hint={hint}
      {...bounds}
      type="number"
      value={text[key]}
      onChange={(typed) => setText({ ...text, [key]: typed })}
    />
  );
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        submission.start();
      }}
    >
      <h3>{texts.queryDefaults}</h3>
      <div class="default-fields">
        {field('lexical', texts.weightOfWords, { min: 0, step: 'any', placeholder: '1' }, texts.exactWords)}
        {field(
          'vector',
          texts.weightOfMeaning,
          { min: 0, step: 'any', placeholder: '0.6' },
          texts.similarMeaning,
        )}
        {field(
          'minScore',
          texts.minimumScore,
          { min: 0, max: 1, step: 'any', placeholder: texts.none },
          texts.n0To1,
        )}
        {field('perDocument', texts.resultsPerDocument, { min: 1, placeholder: texts.noLimit }, texts.atMost)}
      </div>
      <DialogActions error={submission.error}>
        <Button onClick={onClose}>{texts.close}</Button>
        <Button type="submit" tone="primary" busy={submission.isBusy}>
          {texts.saveDefaults}
        </Button>
      </DialogActions>
    </form>
  );
}

function toText(value: number | null | undefined): string {
  return value === null || value === undefined ? '' : String(value);
}

/** Keeps defaults that the form does not show. A single weight is completed with the default of the server. */
function toDefaults({ lexical, vector, minScore, perDocument }: DefaultsText, saved: QueryDefaults) {
  const weights =
    lexical === '' && vector === ''
      ? {}
      : {
          weights: {
            lexical: lexical === '' ? 1 : Number(lexical),
            vector: vector === '' ? 0.6 : Number(vector),
          },
        };
  return {
    ...(saved.syntax === undefined ? {} : { syntax: saved.syntax }),
    ...weights,
    ...(minScore === '' ? {} : { min_score: Number(minScore) }),
    ...(perDocument === '' ? {} : { max_per_document: Number(perDocument) }),
  };
}
