import type { ComponentChildren } from 'preact';
import type { BackupStatusResponse } from '../../../../src/schemas/backups.ts';
import { DescriptionList } from '../../components/description-list.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { formatBytes } from '../../format/numbers.ts';
import { formatDateTime } from '../../format/times.ts';
import { adminGetBackupStatus } from '../../server/administration.ts';
import { usePoll } from '../../server/load.ts';
import { texts } from '../../texts/en/administration.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
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
      <Card title={texts.backups}>
        <SkeletonRows rows={3} />
      </Card>
    ) : (
      <LoadError error={status.error} onRetry={status.reload} />
    );
  }
  return (
    <Card title={texts.backups}>
      {status.data.target === null ? (
        <p class="empty-note">
          {rich(texts.thisServerCreatesNoBackups, { quarryBackupTarget: <code>QUARRY_BACKUP_TARGET</code> })}
        </p>
      ) : (
        <>
          <Failures status={status.data} />
          <DescriptionList facts={factsOf(status.data)} />
        </>
      )}
    </Card>
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
