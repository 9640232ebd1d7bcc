import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from '../components/button.tsx';
import { ErrorMessage, LoadError } from '../components/error-message.tsx';
import { Page } from '../components/page.tsx';
import { LoadingText } from '../components/skeleton.tsx';
import { TextField } from '../components/text-field.tsx';
import { formatBytes } from '../format/numbers.ts';
import { uploadUrl } from '../page-urls.ts';
import { getOrganizationInfo } from '../server/account.ts';
import { ApiError } from '../server/api-call.ts';
import { useLoad } from '../server/load.ts';
import { addCollection } from '../server/retrieval.ts';
import { organizationId } from '../server/session.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/upload.ts';
import { fill } from '../texts/format-text.ts';
import { CollectionField, useCollection } from './collection-select.tsx';
import { filesFromDrop, filesFromPicker } from './selected-files.ts';
import { UploadList } from './upload-list.tsx';
import { addUploads, type SelectedFile, uploads } from './uploads.ts';

/** Name of the collection that is created if none exists yet; `quarry ingest` and `quarry search` use it by default. */
const firstCollection = 'default';

/** Upload page: files are dropped, selected one by one, or selected as a folder. */
export function UploadPage() {
  const { route } = useLocation();
  const { names, selected } = useCollection();
  const limit = useLoad(async (abort) => (await getOrganizationInfo(abort)).upload_bytes_max, []);
  const [folder, setFolder] = useState('');
  const [error, setError] = useState<unknown>(null);
  if (names.error !== null && names.data === undefined)
    return (
      <Page title={texts.upload}>
        <LoadError error={names.error} onRetry={names.reload} />
      </Page>
    );
  const all = names.data ?? [];
  const collection = selected ?? firstCollection;
  const ownUploads = uploads.value.filter((upload) => upload.organizationId === organizationId());
  const addFiles = async (found: Promise<SelectedFile[]> | SelectedFile[]) => {
    setError(null);
    try {
      const files = await found;
      if (files.length === 0) throw new Error(texts.theSelectionContainsNoFiles);
      if (!all.includes(collection)) await ensureCollection(collection);
      const prefix = folder.trim().replace(/\/*$/, '');
      addUploads(
        collection,
        files.map(({ file, path }) => ({ file, path: prefix === '' ? path : `${prefix}/${path}` })),
        { bytesMax: limit.data ?? Number.POSITIVE_INFINITY },
      );
      if (!all.includes(collection)) names.reload();
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Page title={texts.upload} subtitle={texts.pdfOfficeHtmlEmailE}>
      <div class="stack">
        {/* The destination first: the upload starts when files are dropped. */}
        <div class="filters two">
          <CollectionField
            names={names.data?.length === 0 ? [firstCollection] : all}
            selected={names.data === undefined ? selected : collection}
            onChoose={(name) => route(uploadUrl(name), true)}
          />
          <FolderField folder={folder} onType={setFolder} />
        </div>
        <DropZone
          onFiles={addFiles}
          isReady={names.data !== undefined}
          isSmall={ownUploads.length > 0}
          bytesMax={limit.data}
        />
        {names.data?.length === 0 && <p class="hint">{fill(texts.filesAreAddedToA, { firstCollection })}</p>}
        <ErrorMessage error={error} />
        {ownUploads.length > 0 && <UploadList all={ownUploads} />}
      </div>
    </Page>
  );
}

interface FolderFieldProps {
  readonly folder: string;
  readonly onType: (folder: string) => void;
}

function FolderField({ folder, onType }: FolderFieldProps) {
  return (
    <TextField
      label={texts.folderInTheCollectionOptional}
      autoComplete="off"
      spellcheck={false}
      placeholder="reports/2026"
      value={folder}
      onChange={onType}
    />
  );
}

/** Creates the collection, unless it already exists. */
async function ensureCollection(collection: string): Promise<void> {
  try {
    await addCollection({ collection_name: collection });
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 409) throw error;
  }
}

interface DropZoneProps {
  readonly isReady: boolean;
  /** Smaller if files are already listed on the page. */
  readonly isSmall: boolean;
  /** Undefined while unknown; then only the server checks the size. */
  readonly bytesMax: number | undefined;
  readonly onFiles: (found: Promise<SelectedFile[]> | SelectedFile[]) => Promise<void>;
}

function DropZone({ isReady, isSmall, bytesMax, onFiles }: DropZoneProps) {
  const isOver = useDrop((data) => {
    if (isReady) void onFiles(filesFromDrop(data));
  });
  const files = useRef<HTMLInputElement>(null);
  const folder = useRef<HTMLInputElement>(null);
  const addPicked = (event: { readonly currentTarget: HTMLInputElement }) => {
    const found = filesFromPicker(event.currentTarget.files);
    event.currentTarget.value = '';
    void onFiles(found);
  };
  return (
    <section class={`drop-zone ${isOver ? 'over' : ''} ${isSmall ? 'small' : ''}`} aria-label={texts.files}>
      <Icon name="upload" />
      <h2>{texts.dropFilesOrFoldersHere}</h2>
      <p class="muted">
        <LoadingText
          value={
            bytesMax === undefined
              ? undefined
              : fill(texts.orChooseFilesUpTo, { bytesMax: formatBytes(bytesMax) })
          }
          width="14rem"
        />
      </p>
      <div class="row">
        <Button tone="primary" disabled={!isReady} onClick={() => files.current?.click()}>
          {texts.chooseFiles}
        </Button>
        <Button disabled={!isReady} onClick={() => folder.current?.click()}>
          {texts.chooseAFolder}
        </Button>
      </div>
      <input
        ref={files}
        class="visually-hidden"
        type="file"
        multiple
        tabIndex={-1}
        aria-label={texts.filesToUpload}
        onChange={addPicked}
      />
      <input
        ref={folder}
        class="visually-hidden"
        type="file"
        multiple
        tabIndex={-1}
        aria-label={texts.folderToUpload}
        {...{ webkitdirectory: true }}
        onChange={addPicked}
      />
    </section>
  );
}

/**
 * Accepts files dropped anywhere on the page: outside the drop target, the browser would open them and leave
 * the page. Returns whether files are being dragged over the page.
 */
function useDrop(onDrop: (data: DataTransfer) => void): boolean {
  const [isOver, setOver] = useState(false);
  const latest = useRef(onDrop);
  latest.current = onDrop;
  useEffect(() => {
    const over = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (event.relatedTarget === null) setOver(false);
    };
    const drop = (event: DragEvent) => {
      if (event.dataTransfer?.types.includes('Files') !== true) return;
      event.preventDefault();
      setOver(false);
      latest.current(event.dataTransfer);
    };
    const listening = new AbortController();
    window.addEventListener('dragover', over, listening);
    window.addEventListener('dragleave', leave, listening);
    window.addEventListener('drop', drop, listening);
    return () => listening.abort();
  }, []);
  return isOver;
}
