import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from '../../components/button.tsx';
import { DescriptionList } from '../../components/description-list.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { missingPage } from '../../components/missing-page.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { formatDate } from '../../format/times.ts';
import { documentsUrl, sourceUrl } from '../../page-urls.ts';
import { isNotFound } from '../../server/api-call.ts';
import { useLoad, usePoll } from '../../server/load.ts';
import { getSource, type SourceInfo, syncSource } from '../../server/sources.ts';
import { texts } from '../../texts/en/sources.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import { perform, type SourceDialog, SourceDialogs, SourceMenu } from './source-dialogs.tsx';
import { hasTimes } from './source-fields.tsx';
import { SourceItems } from './source-items.tsx';
import { describeSettings, sourceKindDescriptions } from './source-kinds.ts';
import {
  currentCounts,
  describeCounts,
  isBusy,
  LastRunCell,
  NextRunCell,
  SourceState,
} from './source-status.tsx';

/** Page of one source: state, result of the last run, settings, items. */
export function SourcePage() {
  const { name } = useLocation().query;
  return name === undefined ? missingPage('source') : <SourceView key={name} name={name} />;
}

function SourceView({ name }: { readonly name: string }) {
  const { query, route } = useLocation();
  const loaded = useLoad((abort) => getSource(name, abort), []);
  const [dialog, setDialog] = useState<SourceDialog | null>(() => firstDialog(name, query));
  const source = loaded.data;
  const isChanging = source !== undefined && isBusy(source);
  usePoll(
    async (abort) => {
      try {
        const next = await getSource(name, abort);
        loaded.replace(next);
        return isBusy(next) ? 'busy' : 'idle';
      } catch (error) {
        if (isNotFound(error)) loaded.reload();
        throw error;
      }
    },
    [isChanging],
  );
  if (isNotFound(loaded.error)) return missingPage('source');
  const close = () => {
    setDialog(null);
    // A reload must not show the dialog of the new source again.
    if (query.schedule !== undefined) route(sourceUrl(name), true);
  };
  return (
    <Page
      title={name}
      crumbs={[{ title: texts.sources, href: '/app/sources' }]}
      subtitle={source === undefined ? texts.source : <Subtitle source={source} />}
      actions={
        source && (
          <>
            <Button
              disabled={source.state === 'paused' || source.state === 'deleting'}
              onClick={() => void perform(syncSource(name), fill(texts.nameRunsNow, { name }), loaded.reload)}
            >
              {texts.runNow}
            </Button>
            <SourceMenu source={source} onOpenDialog={setDialog} onChanged={loaded.reload} />
          </>
        )
      }
    >
      {source === undefined ? (
        loaded.error === null ? (
          <Card>
            <SkeletonRows rows={8} />
          </Card>
        ) : (
          <LoadError error={loaded.error} onRetry={loaded.reload} />
        )
      ) : (
        <>
          <RunCard source={source} />
          <SettingsCard source={source} />
          <div id="items">
            <SourceItems source={source} />
          </div>
        </>
      )}
      {dialog !== null && <SourceDialogs dialog={dialog} onClose={close} onChanged={loaded.reload} />}
    </Page>
  );
}

/** The dry run of a new source, whose options are in the URL until it is started. */
function firstDialog(name: string, query: Readonly<Record<string, string>>): SourceDialog | null {
  const { schedule, watch } = query;
  if (schedule === undefined) return null;
  return { kind: 'preview', name, pending: { schedule, isWatched: watch === 'true' } };
}

function Subtitle({ source: { kind, collection_name: collection } }: { readonly source: SourceInfo }) {
  return (
    <>
      {rich(texts.nameFollowedByCollection, {
        name: sourceKindDescriptions[kind].name,
        collection:
          collection === null ? (
            texts.aDeletedCollection
          ) : (
            <a href={documentsUrl(collection)}>{collection}</a>
          ),
      })}
    </>
  );
}

function RunCard({ source }: { readonly source: SourceInfo }) {
  const { running, last_run: last, last_success_at: succeededAt, watch_error: watchError } = source;
  const error = running === null ? (last?.error ?? null) : null;
  return (
    <Card title={running === null ? texts.lastRun : texts.currentRun}>
      {error !== null && <p class="error-text">{error}</p>}
      {watchError !== null && <p class="note warning">{fill(texts.theFolderIsNotWatched, { watchError })}</p>}
      <RunSummary source={source} />
      <DescriptionList
        facts={[
          [texts.state, <SourceState key="state" source={source} />],
          [texts.nextRun, <NextRunCell key="next" source={source} />],
          [
            texts.lastRunWithoutAFailure,
            succeededAt === null ? texts.never : <RelativeTime key="success" at={succeededAt} />,
          ],
        ]}
      />
    </Card>
  );
}

/** Outcome, time and counts of the current or last run in one line; failed items lead to their list. */
function RunSummary({ source }: { readonly source: SourceInfo }) {
  const { running, last_run: last } = source;
  const counts = currentCounts(source);
  return (
    <p class="run-summary">
      {running === null && <LastRunCell run={last} />}
      {counts !== null && (
        <span>
          {describeCounts({ ...counts, failed: 0 })}
          {counts.unchanged > 0 && counted(texts.countUnchanged, counts.unchanged)}
          {counts.failed > 0 && (
            <>
              , <a href="#items">{counted(texts.countFailed, counts.failed)}</a>
            </>
          )}
        </span>
      )}
    </p>
  );
}

function SettingsCard({ source }: { readonly source: SourceInfo }) {
  const {
    prefix,
    schedule,
    time_zone: timeZone,
    watch,
    metadata,
    has_credentials: hasCredentials,
    created_at: createdAt,
  } = source;
  return (
    <Card title={texts.settings}>
      <DescriptionList
        facts={[
          ...describeSettings(source),
          [
            texts.schedule,
            schedule === 'off' ? texts.off : hasTimes(schedule) ? `${schedule} ${timeZone}` : schedule,
          ],
          ...(watch ? [[texts.runsAfterChanges, texts.yes] as const] : []),
          ...(prefix === '' ? [] : [[texts.pathPrefix, <code key="prefix">{prefix}</code>] as const]),
          ...(Object.keys(metadata).length === 0
            ? []
            : [[texts.metadata, <code key="metadata">{JSON.stringify(metadata)}</code>] as const]),
          ...(hasCredentials ? [[texts.credentials, texts.stored] as const] : []),
          [texts.created, formatDate(createdAt)],
        ]}
      />
    </Card>
  );
}
