import { useEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import type { Curations } from '../../../src/schemas/curations.ts';
import type { StatusResponse } from '../../../src/schemas/status.ts';
import { Button, LinkButton } from '../components/button.tsx';
import { DescriptionList } from '../components/description-list.tsx';
import { EmptyState } from '../components/empty-state.tsx';
import { LoadError } from '../components/error-message.tsx';
import { lazyPart } from '../components/lazy-part.tsx';
import { missingPage } from '../components/missing-page.tsx';
import { Card, Page } from '../components/page.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { Tabs } from '../components/tabs.tsx';
import { formatBytes, formatCount } from '../format/numbers.ts';
import { formatDate } from '../format/times.ts';
import { collectionUrl, documentsUrl, searchUrl, sourceUrl, uploadUrl } from '../page-urls.ts';
import { isNotFound } from '../server/api-call.ts';
import { useLoad } from '../server/load.ts';
import {
  type DocumentRow,
  getCollectionInfo,
  getCollectionStatus,
  listDocuments,
} from '../server/retrieval.ts';
import { listSources, type SourceInfo } from '../server/sources.ts';
import '../style/administration.css';
import { texts } from '../texts/en/collections.ts';
import { fill } from '../texts/format-text.ts';
import { collectionChanges } from './collection-changes.ts';
import { CurationsOverlay, openCurations } from './curations-overlay.tsx';
import { sortedDocumentsMax } from './overview-documents.ts';
import { RecentRow } from './recent-documents.tsx';
import { openSynonyms, SynonymsOverlay } from './synonyms-overlay.tsx';

const CollectionSettings = lazyPart<{ readonly name: string; readonly onClose: () => void }>(() =>
  import('./collection-settings.tsx').then((module) => module.CollectionSettings),
);

/** Documents that are listed on the page. */
const recentMax = 10;

interface CollectionDetails {
  readonly status: StatusResponse;
  readonly synonyms: readonly (readonly string[])[];
  readonly stopWords: readonly string[];
  readonly rules: Curations;
  readonly sources: readonly SourceInfo[];
  /** The last ones; empty for a collection that is too large to be sorted. */
  readonly recent: readonly DocumentRow[];
}

async function loadDetails(name: string, abort: AbortSignal): Promise<CollectionDetails> {
  const [status, { collection }, sources] = await Promise.all([
    getCollectionStatus(name, abort),
    getCollectionInfo(name, abort),
    listSources(abort),
  ]);
  const request = {
    collection_name: name,
    sort_by: 'created_at',
    descending: true,
    limit: recentMax,
  } as const;
  const isSorted = status.num_documents > 0 && status.num_documents <= sortedDocumentsMax;
  return {
    status,
    synonyms: collection.synonyms ?? [],
    stopWords: collection.stop_words ?? [],
    rules: collection.curations ?? [],
    sources: sources.filter(({ collection_name }) => collection_name === name),
    recent: isSorted ? (await listDocuments(request, abort)).documents : [],
  };
}

/** Page of one collection: its documents, sources, words, rules and settings. */
export function CollectionPage() {
  const { name } = useLocation().query;
  return name === undefined ? missingPage('collection') : <CollectionView key={name} name={name} />;
}

const sections = [
  ['documents', texts.documents],
  ['sources', texts.sources],
  ['words', texts.synonymsAndStopWords],
  ['rules', texts.pinnedAndHidden],
  ['settings', texts.settings],
] as const;

function CollectionView({ name }: { readonly name: string }) {
  const { query } = useLocation();
  const details = useLoad((abort) => loadDetails(name, abort), []);
  useReloadAfterChanges(details.reload);
  if (isNotFound(details.error)) return missingPage('collection');
  const current = sections.find(([id]) => id === query.section)?.[0] ?? 'documents';
  return (
    <Page
      title={name}
      crumbs={[{ title: texts.collections, href: '/app/collections' }]}
      actions={
        <>
          <LinkButton href={uploadUrl(name)}>{texts.upload}</LinkButton>
          <LinkButton href={searchUrl(name)} tone="primary">
            {texts.search}
          </LinkButton>
        </>
      }
    >
      <Tabs
        label={texts.sectionsOfTheCollection}
        tabs={sections.map(([id, label]) => ({
          name: label,
          href: collectionUrl(name, id === 'documents' ? undefined : id),
          isCurrent: id === current,
        }))}
      />
      {details.data !== undefined ? (
        <Section id={current} name={name} details={details.data} onChanged={details.reload} />
      ) : details.error === null ? (
        <Card>
          <SkeletonRows rows={8} />
        </Card>
      ) : (
        <LoadError error={details.error} onRetry={details.reload} />
      )}
      <SynonymsOverlay />
      <CurationsOverlay />
    </Page>
  );
}

/** Words and rules are changed in dialogs, which do not know the page. */
function useReloadAfterChanges(reload: () => void): void {
  const changes = collectionChanges.value;
  const known = useRef(changes);
  useEffect(() => {
    if (known.current !== changes) reload();
    known.current = changes;
  }, [changes]);
}

interface SectionProps {
  readonly name: string;
  readonly details: CollectionDetails;
  readonly onChanged: () => void;
}

function Section({ id, ...props }: SectionProps & { readonly id: (typeof sections)[number][0] }) {
  switch (id) {
    case 'documents':
      return <Documents {...props} />;
    case 'sources':
      return <Sources {...props} />;
    case 'words':
      return <Words {...props} />;
    case 'rules':
      return <Rules {...props} />;
    case 'settings':
      return <Settings {...props} />;
  }
}

function Documents({ name, details: { status, recent } }: SectionProps) {
  if (status.num_documents === 0) {
    return (
      <EmptyState
        title={texts.thisCollectionIsEmpty}
        actions={<LinkButton href={uploadUrl(name)}>{texts.upload}</LinkButton>}
      >
        {texts.uploadFilesOrAddA}
      </EmptyState>
    );
  }
  return (
    <Card
      title={texts.recentDocuments}
      actions={
        <a href={documentsUrl(name)}>{fill(texts.allCount, { count: formatCount(status.num_documents) })}</a>
      }
    >
      <ul class="recent-documents">
        {recent.map((row) => (
          <RecentRow key={row.path} collection={name} path={row.path} row={row} hasCollection={false} />
        ))}
      </ul>
    </Card>
  );
}

function Sources({ details: { sources } }: SectionProps) {
  return (
    <Card title={texts.sources} actions={<a href="/app/sources">{texts.allSources}</a>}>
      {sources.length === 0 ? (
        <p class="muted">{texts.noSourceAddsDocumentsTo}</p>
      ) : (
        <ul class="plain-list">
          {sources.map(({ source_name: source }) => (
            <li key={source}>
              <a href={sourceUrl(source)}>{source}</a>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Words({ name, details: { synonyms, stopWords } }: SectionProps) {
  return (
    <Card
      title={texts.synonymsAndStopWords}
      actions={<Button onClick={() => openSynonyms(name)}>{texts.edit}</Button>}
    >
      <DescriptionList
        facts={[
          [
            texts.synonymGroups,
            synonyms.length === 0 ? texts.none : lines(synonyms.map((each) => each.join(', '))),
          ],
          [texts.stopWords, stopWords.length === 0 ? texts.none : stopWords.join(', ')],
        ]}
      />
    </Card>
  );
}

function Rules({ name, details: { rules } }: SectionProps) {
  return (
    <Card
      title={texts.pinnedAndHidden}
      actions={<Button onClick={() => openCurations(name)}>{texts.edit}</Button>}
    >
      {rules.length === 0 ? (
        <p class="muted">{texts.noRulePinsOrHides}</p>
      ) : (
        <DescriptionList
          facts={rules.map(({ queries, pinned = [], hidden = [] }) => [
            queries.join(', '),
            lines([
              ...(pinned.length === 0 ? [] : [fill(texts.pinnedPaths, { paths: pinned.join(', ') })]),
              ...(hidden.length === 0 ? [] : [fill(texts.hiddenPaths, { paths: hidden.join(', ') })]),
            ]),
          ])}
        />
      )}
    </Card>
  );
}

function lines(all: readonly string[]) {
  return (
    <ul>
      {all.map((each) => (
        <li key={each}>{each}</li>
      ))}
    </ul>
  );
}

function Settings({ name, details: { status }, onChanged }: SectionProps) {
  const [isOpen, setOpen] = useState(false);
  const { details } = status;
  return (
    <Card title={texts.settings} actions={<Button onClick={() => setOpen(true)}>{texts.edit}</Button>}>
      <DescriptionList
        facts={[
          [texts.documents, formatCount(status.num_documents)],
          [texts.chunks, formatCount(details?.num_chunks ?? 0)],
          [texts.originalFiles, formatBytes(details?.num_stored_bytes ?? 0)],
          [texts.model, status.embedding_model ?? '–'],
          [texts.shards, formatCount(details?.num_shards ?? 1)],
          [texts.created, details === undefined ? '–' : formatDate(details.created_at)],
        ]}
      />
      {isOpen && (
        <CollectionSettings
          name={name}
          onClose={() => {
            setOpen(false);
            onChanged();
          }}
        />
      )}
    </Card>
  );
}
