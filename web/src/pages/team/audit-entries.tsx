import type { AuditLogEntry } from '../../../../src/schemas/audit.ts';
import { DescriptionList } from '../../components/description-list.tsx';
import { formatDate, formatDateTime, formatTimeOfDay } from '../../format/times.ts';
import { texts } from '../../texts/en/audit.ts';
import { actorName, type KnownNames, phraseOf } from './audit-phrases.ts';

interface AuditEntriesProps {
  readonly entries: readonly AuditLogEntry[];
  readonly names: KnownNames;
}

/** Entries by day, each as a sentence; opened, with its code and all of its details. */
export function AuditEntries({ entries, names }: AuditEntriesProps) {
  return (
    <ol class="audit" aria-label={texts.auditLog}>
      {entries.map((entry, i) => (
        <Entry
          key={entry.id}
          entry={entry}
          names={names}
          isFirstOfDay={dayOf(entry) !== dayOf(entries[i - 1])}
        />
      ))}
    </ol>
  );
}

function dayOf(entry: AuditLogEntry | undefined): string {
  return entry === undefined ? '' : formatDate(entry.at);
}

interface EntryProps {
  readonly entry: AuditLogEntry;
  readonly names: KnownNames;
  readonly isFirstOfDay: boolean;
}

function Entry({ entry, names, isFirstOfDay }: EntryProps) {
  const { at, actor, action, target, address, details } = entry;
  return (
    <li>
      {isFirstOfDay && <h2 class="audit-day">{formatDate(at)}</h2>}
      <details>
        <summary>
          <time dateTime={at} title={formatDateTime(at)}>
            {formatTimeOfDay(at)}
          </time>
          <strong>{actorName(actor, names)}</strong>
          <span class="audit-phrase">{phraseOf(entry, names)}</span>
        </summary>
        <DescriptionList
          facts={[
            [texts.action, <code key="action">{action}</code>],
            ...(target === null ? [] : [[texts.target, <code key="target">{target}</code>] as const]),
            ...(address === null ? [] : [[texts.address, <code key="address">{address}</code>] as const]),
            ...Object.entries(details).map(
              ([name, value]) => [name, <code key={name}>{String(value)}</code>] as const,
            ),
          ]}
        />
      </details>
    </li>
  );
}
