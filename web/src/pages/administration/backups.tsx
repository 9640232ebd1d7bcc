import type { ComponentChildren } from 'preact';
import type { BackupStatusResponse } from '../../../../src/schemas/backups.ts';
import { Button, LinkButton } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { DescriptionList } from '../../components/description-list.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Card } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { formatBytes } from '../../format/numbers.ts';
import { formatDateTime } from '../../format/times.ts';
import { adminCreateBackup, adminGetBackupStatus } from '../../server/administration.ts';
import { usePoll } from '../../server/load.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { Icon } from '../../shell/icons.tsx';
import { texts } from '../../texts/en/administration.ts';
import { fill } from '../../texts/format-text.ts';
import type { SectionProps } from './administration.tsx';
import { useAdministratorLoad } from './use-administrator-load.ts';

/** State of the backups of the server. */
export function Backups({ onDenied }: SectionProps) {
  const status = useAdministratorLoad(adminGetBackupStatus, [], onDenied);
  const hasTarget = status.data !== undefined && status.data.target !== null;
  usePoll(
    async (abort) => {
      if (!hasTarget) return 'idle';
      const found = await adminGetBackupStatus(abort);
      status.replace(found);
      return found.running === null ? 'idle' : 'busy';
    },
    [hasTarget],
  );
  if (status.data === undefined) {
    return status.error === null ? (
      <Card>
        <SkeletonRows rows={3} />
      </Card>
    ) : (
      <LoadError error={status.error} onRetry={status.reload} />
    );
  }
  return (
    <>
      {status.data.target === null ? (
        <NoBackups />
      ) : (
        <Card>
          <Failures status={status.data} />
          <DescriptionList facts={factsOf(status.data)} />
          <CreateBackup isRunning={status.data.running !== null} onStarted={status.replace} />
        </Card>
      )}
    </>
  );
}

const exampleSettings = 'QUARRY_BACKUP_TARGET=/backup/quarry\nQUARRY_BACKUP_KEEP=last:3,daily:7,weekly:4';

/** The most important message of the administration, and the settings that end it. */
function NoBackups() {
  return (
    <section class="card no-backups" aria-labelledby="no-backups">
      <Icon name="warning" />
      <div>
        <h2 id="no-backups">{texts.noBackups}</h2>
        <p>{texts.aDiskFailureLosesAll}</p>
        <p>{texts.setTheseEnvironmentVariablesAnd}</p>
        <pre class="code">{exampleSettings}</pre>
        <div class="row">
          <CopyButton text={exampleSettings} label={texts.copySettings} />
          <LinkButton href="/docs/operate/backup" isExternal>
            {texts.guideToBackups}
          </LinkButton>
        </div>
      </div>
    </section>
  );
}

interface CreateBackupProps {
  readonly isRunning: boolean;
  readonly onStarted: (status: BackupStatusResponse) => void;
}

function CreateBackup({ isRunning, onStarted }: CreateBackupProps) {
  const start = useAsyncAction(async () => onStarted(await adminCreateBackup()));
  return (
    <div class="stack apart-row">
      <ErrorMessage error={start.error} />
      <div class="row">
        <Button busy={start.isBusy || isRunning} onClick={start.start}>
          {texts.createABackupNow}
        </Button>
      </div>
    </div>
  );
}

function Failures({ status: { last_error, rehearsal_error } }: { readonly status: BackupStatusResponse }) {
  return (
    <>
      {last_error !== null && (
        <p class="hint wrong" role="alert">
          {fill(texts.theLastBackupFailedMessage, { message: last_error.message })}
        </p>
      )}
      {rehearsal_error !== null && (
        <p class="hint wrong" role="alert">
          {fill(texts.theLastRestoreFailedMessage, { message: rehearsal_error.message })}
        </p>
      )}
    </>
  );
}

function factsOf(status: BackupStatusResponse): (readonly [string, ComponentChildren])[] {
  const { target, running, last_backup: last, recoverable, last_verified_restore: restore, next_at } = status;
  const range = recoverable.at(-1);
  const time = (at: string | undefined, absent: string) =>
    at === undefined ? absent : <RelativeTime at={at} />;
  return [
    [texts.target, target],
    [texts.lastBackup, time(last?.taken_at, texts.noneYet)],
    ...(last === null ? [] : [[texts.size, formatBytes(last.store_bytes + last.file_bytes)] as const]),
    ...(running === null ? [] : [[texts.runningSince, time(running.started_at, '')] as const]),
    [texts.nextBackup, time(next_at ?? undefined, texts.notScheduled)],
    [
      texts.canBeRestored,
      range === undefined
        ? texts.nothingYet
        : fill(texts.fromToTo, { from: formatDateTime(range.from), to: formatDateTime(range.to) }),
    ],
    [texts.lastVerifiedRestore, time(restore?.verified_at, texts.noneYet)],
  ];
}
