import { useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { documentAt, documentsOf, playgroundOf, uploadTo } from '../addresses.ts';
import { isNarrow } from '../browser/media.ts';
import { Button, LinkButton } from '../parts/button.tsx';
import { Chip } from '../parts/chip.tsx';
import { Field } from '../parts/field.tsx';
import { Page } from '../parts/page.tsx';
import { NotLoaded, Trouble } from '../parts/trouble.tsx';
import { VirtualRows } from '../parts/virtual-rows.tsx';
import { organizationInfo } from '../server/account.ts';
import { CallError } from '../server/call.ts';
import { useLoad } from '../server/load.ts';
import { addCollection } from '../server/retrieval.ts';
import { Picture } from '../shell/pictures.tsx';
import { bytes, count, counted } from '../words/numbers.ts';
import { CollectionField, useCollection } from './collection-choice.tsx';
import { fromDrop, fromPicker } from './dropped-files.ts';
import { useUnderWay } from './under-way.tsx';
import {
  addUploads,
  type Chosen,
  cancelAll,
  cancelUpload,
  clearUploads,
  isUnderWay,
  overwriteUpload,
  retryUpload,
  type Upload,
  uploads,
} from './uploads.ts';

/** The collection of somebody who has none yet and drops files first. */
const firstCollection = 'documents';

/** Files in: dropped, picked one by one, or a folder at once. */
export function UploadPage() {
  const { route } = useLocation();
  const { names, chosen } = useCollection();
  const limit = useLoad(async (abort) => (await organizationInfo(abort)).upload_bytes_max, []);
  const [folder, setFolder] = useState('');
  const [error, setError] = useState<unknown>(null);
  if (names.error !== null && names.data === undefined)
    return (
      <Page title="Upload">
        <NotLoaded error={names.error} onRetry={names.reload} />
      </Page>
    );
  const all = names.data ?? [];
  const collection = chosen ?? firstCollection;
  const take = async (found: Promise<Chosen[]> | Chosen[]) => {
    setError(null);
    try {
      const files = await found;
      if (files.length === 0) return;
      if (!all.includes(collection)) await created(collection);
      const prefix = folder.trim().replace(/\/*$/, '');
      addUploads(
        collection,
        files.map(({ file, path }) => ({ file, path: prefix === '' ? path : `${prefix}/${path}` })),
        limit.data ?? Number.POSITIVE_INFINITY,
      );
      if (!all.includes(collection)) names.reload();
    } catch (fault) {
      setError(fault);
    }
  };
  return (
    <Page
      title="Upload"
      lead="PDF, Office, HTML, mails, e-books, pictures of text, and plain text. What a file is, is seen from its content."
    >
      <div class="stack">
        <div class="filters two">
          {(names.data === undefined || all.length > 0) && (
            <CollectionField
              names={all}
              chosen={collection}
              onChoose={(name) => route(uploadTo(name), true)}
            />
          )}
          <Field label="Folder (optional)">
            {(control) => (
              <input
                {...control}
                type="text"
                autoComplete="off"
                spellcheck={false}
                placeholder="reports/2026"
                value={folder}
                onInput={(event) => setFolder(event.currentTarget.value)}
              />
            )}
          </Field>
        </div>
        <DropZone onFiles={take} isReady={names.data !== undefined} bytesMax={limit.data} />
        {all.length === 0 && names.data !== undefined && (
          <p class="hint">You have no collection yet: the first files make one named “{firstCollection}”.</p>
        )}
        <Trouble error={error} />
        {uploads.value.length > 0 && <UploadList />}
      </div>
    </Page>
  );
}

/** Makes the collection, unless somebody else did meanwhile. */
async function created(collection: string): Promise<void> {
  try {
    await addCollection({ collection_name: collection });
  } catch (error) {
    if (!(error instanceof CallError) || error.status !== 409) throw error;
  }
}

interface DropZoneProps {
  readonly isReady: boolean;
  /** Undefined while not known; then the server decides. */
  readonly bytesMax: number | undefined;
  readonly onFiles: (found: Promise<Chosen[]> | Chosen[]) => Promise<void>;
}

function DropZone({ isReady, bytesMax, onFiles }: DropZoneProps) {
  const [isOver, setOver] = useState(false);
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const picked = (event: { readonly currentTarget: HTMLInputElement }) => {
    const found = fromPicker(event.currentTarget.files);
    event.currentTarget.value = '';
    void onFiles(found);
  };
  return (
    <section
      class={`drop ${isOver ? 'over' : ''}`}
      aria-label="Files"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        if (event.dataTransfer !== null && isReady) void onFiles(fromDrop(event.dataTransfer));
      }}
    >
      <Picture of="upload" />
      <h2>Drop files or folders here</h2>
      <p class="soft">
        {bytesMax === undefined ? 'or choose them' : `or choose them, up to ${bytes(bytesMax)} each`}
      </p>
      <div class="row">
        <Button tone="primary" disabled={!isReady} onClick={() => files.current?.click()}>
          Choose files
        </Button>
        <Button disabled={!isReady} onClick={() => folder.current?.click()}>
          Choose a folder
        </Button>
      </div>
      <input
        ref={files}
        class="unseen"
        type="file"
        multiple
        tabIndex={-1}
        aria-label="Files to upload"
        onChange={picked}
      />
      <input
        ref={folder}
        class="unseen"
        type="file"
        multiple
        tabIndex={-1}
        aria-label="Folder to upload"
        {...{ webkitdirectory: true }}
        onChange={picked}
      />
    </section>
  );
}

function replaceAll(all: readonly Upload[]): void {
  for (const { id } of all) overwriteUpload(id);
}

function retryEach(all: readonly Upload[]): void {
  for (const { id } of all) retryUpload(id);
}

const rowHeights = { wide: 60, narrow: 100 } as const;

function UploadList() {
  const all = uploads.value;
  const underWay = all.filter(isUnderWay).length;
  const stored = all.filter(({ state }) => state.name === 'stored').length;
  const exist = all.filter(({ state }) => state.name === 'exists');
  const failed = all.filter(({ state }) => state.name === 'failed');
  const collection = all.at(-1)?.collection ?? firstCollection;
  const left = useUnderWay(collection);
  return (
    <section class="stack" aria-label="Uploads">
      <div class="list-head">
        <p role="status" class="number">
          {underWay > 0
            ? `${count(stored)} of ${counted(all.length, 'file')} uploaded`
            : `${counted(stored, 'file')} uploaded`}
          {failed.length > 0 && `, ${count(failed.length)} failed`}
          {exist.length > 0 && `, ${count(exist.length)} exist already`}
          {left !== undefined && left > 0 && (
            <span class="soft"> · {counted(left, 'document')} on the way into search</span>
          )}
        </p>
        <div class="row">
          {exist.length > 0 && <Button onClick={() => replaceAll(exist)}>Replace existing</Button>}
          {failed.length > 0 && <Button onClick={() => retryEach(failed)}>Try failed again</Button>}
          {underWay > 0 ? (
            <Button onClick={cancelAll}>Cancel all</Button>
          ) : (
            <>
              <Button tone="ghost" onClick={clearUploads}>
                Clear list
              </Button>
              <LinkButton href={documentsOf(collection)}>See documents</LinkButton>
              <LinkButton href={playgroundOf(collection)} tone="primary">
                Ask a question
              </LinkButton>
            </>
          )}
        </div>
      </div>
      <div role="table" aria-label="Uploads" aria-rowcount={all.length}>
        <VirtualRows
          rows={all}
          rowHeight={isNarrow.value ? rowHeights.narrow : rowHeights.wide}
          keyOf={({ id }) => String(id)}
          render={(each) => <Row upload={each} />}
        />
      </div>
    </section>
  );
}

function Row({ upload }: { readonly upload: Upload }) {
  const { path, file, collection, state } = upload;
  return (
    <div class="upload-row" role="presentation">
      <span role="cell" class="cut">
        {state.name === 'stored' ? <a href={documentAt(collection, path)}>{path}</a> : path}
        <span class="soft number cut">
          {bytes(file.size)} into {collection}
          {state.name === 'failed' && <span class="wrong"> · {state.why}</span>}
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
  }
}

function Actions({ upload: { id, path, state } }: { readonly upload: Upload }) {
  switch (state.name) {
    case 'waiting':
    case 'sending':
      return (
        <Button tone="ghost" aria-label={`Cancel ${path}`} onClick={() => cancelUpload(id)}>
          Cancel
        </Button>
      );
    case 'exists':
      return (
        <Button aria-label={`Replace ${path}`} onClick={() => overwriteUpload(id)}>
          Replace
        </Button>
      );
    case 'failed':
    case 'cancelled':
      return (
        <Button aria-label={`Try ${path} again`} onClick={() => retryUpload(id)}>
          Try again
        </Button>
      );
    case 'stored':
      return null;
  }
}
