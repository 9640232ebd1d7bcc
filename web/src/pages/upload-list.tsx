import { documentAt, documentsOf, failedOf, playgroundOf } from '../addresses.ts';
import { isNarrow } from '../browser/media.ts';
import { Button, LinkButton } from '../parts/button.tsx';
import { Chip } from '../parts/chip.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { bytes, count, counted } from '../words/numbers.ts';
import { useProgress } from './under-way.tsx';
import {
  cancelUploads,
  clearUploads,
  isUnderWay,
  overwriteUploads,
  retryUploads,
  type Upload,
} from './uploads.ts';

const rowHeights = { wide: 60, narrow: 100 } as const;

/** Files on their way and those that arrived, and what to do next; `all` has one at least. */
export function UploadList({ all }: { readonly all: readonly Upload[] }) {
  const collection = all.at(-1)!.collection;
  const isSent = !all.some(isUnderWay);
  return (
    <section class="stack" aria-label="Uploads">
      <div class="list-head">
        <p role="status" class="number">
          <Summary all={all} />
          <Searchable key={`${isSent}`} collection={collection} done={isSent ? searchableWords(all) : null} />
        </p>
        <div class="row">
          <NextSteps all={all} collection={collection} isSent={isSent} />
        </div>
      </div>
      <Reasons all={all} />
      <div role="table" aria-label="Uploads" aria-rowcount={all.length}>
        <VirtualRows
          rows={all}
          rowHeight={isNarrow.value ? rowHeights.narrow : rowHeights.wide}
          keyOf={({ id }) => String(id)}
          render={row}
        />
      </div>
    </section>
  );
}

const idsOf = (some: readonly Upload[]) => some.map(({ id }) => id);
const inState = (all: readonly Upload[], wanted: Upload['state']['name']) =>
  all.filter(({ state }) => state.name === wanted);

function Summary({ all }: { readonly all: readonly Upload[] }) {
  const stored = inState(all, 'stored').length;
  const failed = inState(all, 'failed').length;
  const tooLarge = inState(all, 'too-large').length;
  const exist = inState(all, 'exists').length;
  return (
    <>
      {all.some(isUnderWay)
        ? `${count(stored)} of ${counted(all.length, 'file')} uploaded`
        : `${counted(stored, 'file')} uploaded`}
      {failed > 0 && `, ${count(failed)} failed`}
      {tooLarge > 0 && `, ${count(tooLarge)} too large`}
      {exist > 0 && `, ${count(exist)} exist already`}
    </>
  );
}

/** Different reasons that are told; the rows tell the rest. */
const reasonsMax = 5;

/** Why files did not arrive, each reason once and whole: in its row it may be cut. */
function Reasons({ all }: { readonly all: readonly Upload[] }) {
  const files = new Map<string, number>();
  for (const { state } of all)
    if (state.name === 'failed' || state.name === 'too-large')
      files.set(state.why, (files.get(state.why) ?? 0) + 1);
  if (files.size === 0) return null;
  return (
    <ul class="reasons trouble" aria-label="Why files did not arrive">
      {[...files].slice(0, reasonsMax).map(([why, many]) => (
        <li key={why}>
          <strong class="number">{counted(many, 'file')}:</strong> {why}
        </li>
      ))}
    </ul>
  );
}

/** What is said when all that arrived can be asked; null where nothing arrived. */
function searchableWords(all: readonly Upload[]): string | null {
  const stored = inState(all, 'stored').length;
  if (stored === 0) return null;
  return stored === all.length ? 'all of them can be asked now' : 'what arrived can be asked now';
}

interface SearchableProps {
  readonly collection: string;
  /** What it says when nothing is left on the way; null while files are sent. */
  readonly done: string | null;
}

/** How far what was uploaded is on its way into search. */
function Searchable({ collection, done }: SearchableProps) {
  const found = useProgress(collection);
  if (found === undefined) return null;
  const { left, failed } = found;
  return (
    <span class="soft">
      {left > 0 ? ` · ${counted(left, 'document')} on the way into search` : done !== null && ` · ${done}`}
      {failed > 0 && (
        <>
          {' · '}
          <a href={failedOf(collection)}>{counted(failed, 'document')} could not be read</a>
        </>
      )}
    </span>
  );
}

interface NextStepsProps {
  readonly all: readonly Upload[];
  readonly collection: string;
  /** Whether all files are sent. */
  readonly isSent: boolean;
}

function NextSteps({ all, collection, isSent }: NextStepsProps) {
  const exist = inState(all, 'exists');
  const failed = inState(all, 'failed');
  return (
    <>
      {exist.length > 0 && <Button onClick={() => overwriteUploads(idsOf(exist))}>Replace existing</Button>}
      {failed.length > 0 && <Button onClick={() => retryUploads(idsOf(failed))}>Try failed again</Button>}
      {isSent ? (
        <>
          <Button tone="ghost" onClick={clearUploads}>
            Clear list
          </Button>
          <LinkButton href={documentsOf(collection)}>See documents</LinkButton>
          <LinkButton href={playgroundOf(collection)} tone="primary">
            Ask a question
          </LinkButton>
        </>
      ) : (
        <Button onClick={() => cancelUploads(idsOf(all.filter(isUnderWay)))}>Cancel all</Button>
      )}
    </>
  );
}

/** The same function each time, so that a row is drawn again only when its file has moved on. */
const row = (upload: Upload) => <Row upload={upload} />;

function Row({ upload }: { readonly upload: Upload }) {
  const { path, file, collection, state } = upload;
  return (
    <div class="upload-row" role="presentation">
      <span role="cell" class="cut">
        {state.name === 'stored' ? <a href={documentAt(collection, path)}>{path}</a> : path}
        <span class="soft number cut">
          {state.name === 'failed' || state.name === 'too-large' ? (
            <span class="wrong" title={state.why}>
              {state.why}
            </span>
          ) : (
            `${bytes(file.size)} into ${collection}`
          )}
        </span>
      </span>
      <span role="cell" class="upload-state">
        <State upload={upload} />
      </span>
      <span role="cell" class="row">
        <Actions upload={upload} />
      </span>
    </div>
  );
}

function State({ upload: { state, file, path } }: { readonly upload: Upload }) {
  switch (state.name) {
    case 'waiting':
      return <Chip>Waiting</Chip>;
    case 'sending':
      return <progress max={Math.max(1, file.size)} value={state.sent} aria-label={`Upload of ${path}`} />;
    case 'stored':
      return <Chip tone="good">Uploaded</Chip>;
    case 'exists':
      return <Chip tone="warning">Exists already</Chip>;
    case 'failed':
      return <Chip tone="bad">Failed</Chip>;
    case 'cancelled':
      return <Chip>Cancelled</Chip>;
    case 'too-large':
      return <Chip tone="bad">Too large</Chip>;
  }
}

function Actions({ upload: { id, path, state } }: { readonly upload: Upload }) {
  switch (state.name) {
    case 'waiting':
    case 'sending':
      return (
        <Button tone="ghost" aria-label={`Cancel ${path}`} onClick={() => cancelUploads([id])}>
          Cancel
        </Button>
      );
    case 'exists':
      return (
        <Button aria-label={`Replace ${path}`} onClick={() => overwriteUploads([id])}>
          Replace
        </Button>
      );
    case 'failed':
    case 'cancelled':
      return (
        <Button aria-label={`Try again: ${path}`} onClick={() => retryUploads([id])}>
          Try again
        </Button>
      );
    case 'stored':
    case 'too-large':
      return null;
  }
}
