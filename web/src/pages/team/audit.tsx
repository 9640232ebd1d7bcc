import { useEffect, useState } from 'preact/hooks';
import type { AuditLogEntry, AuditLogRange } from '../../../../src/schemas/audit.ts';
import { Button } from '../../components/button.tsx';
import { DayField } from '../../components/day-field.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Menu } from '../../components/menu.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { showToast } from '../../components/toasts.tsx';
import { errorMessage } from '../../server/api-call.ts';
import { useLoad } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { getAuditLog, getOrganization } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/audit.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { type ExportFormat, exportAuditLog } from './audit-export.ts';
import { hasRole } from './roles.tsx';

const pageSize = 50;

/** Page of the organization's audit log. */
export function AuditPage() {
  const [from, setFrom] = useState('');
  const [to, setTo] = useState('');
  if (!hasRole('OWNER')) {
    return (
      <Page title={texts.auditLog}>
        <EmptyState title={texts.ownersOnly}>{texts.onlyOwnersOfThisOrganization}</EmptyState>
      </Page>
    );
  }
  const range = rangeOf(from, to);
  return (
    <Page
      title={texts.auditLog}
      subtitle={texts.signInsChangesToMembers}
      actions={<ExportMenu range={range} />}
    >
      <div class="row day-range">
        <DayField label={texts.from} value={from} onChange={setFrom} />
        <DayField label={texts.to} value={to} onChange={setTo} />
      </div>
      <Card>
        <Entries key={`${from} ${to}`} range={range} />
      </Card>
    </Page>
  );
}

/** Range of days in the browser's time zone, both inclusive. */
function rangeOf(from: string, to: string): AuditLogRange {
  const midnight = (day: string, later = 0) => {
    const found = new Date(`${day}T00:00:00`);
    found.setDate(found.getDate() + later);
    return found.toISOString();
  };
  return {
    ...(from === '' ? {} : { since: midnight(from) }),
    ...(to === '' ? {} : { before: midnight(to, 1) }),
  };
}

function Entries({ range }: { readonly range: AuditLogRange }) {
  const currentId = organization.value?.organization_id;
  const first = useLoad((abort) => getAuditLog({ ...range, limit: pageSize }, abort), [currentId]);
  const info = useLoad(getOrganization, [currentId]);
  const [older, setOlder] = useState<readonly AuditLogEntry[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  useEffect(() => {
    setOlder([]);
    setCursor(first.data?.next_cursor ?? null);
  }, [first.data]);
  const more = useAsyncAction(async () => {
    const page = await getAuditLog({ ...range, limit: pageSize, cursor });
    setOlder((before) => [...before, ...page.entries]);
    setCursor(page.next_cursor);
  });
  // Wait for the names: replacing ids by names later would shift the layout.
  const areNamesLoading = info.data === undefined && info.error === null;
  if (first.data === undefined || areNamesLoading) {
    return first.error === null ? (
      <SkeletonRows rows={8} />
    ) : (
      <LoadError error={first.error} onRetry={first.reload} />
    );
  }
  const entries = [...first.data.entries, ...older];
  if (entries.length === 0) return <p class="empty-note">{texts.noEntriesInThisPeriod}</p>;
  const people = new Map(info.data?.users.map(({ user_id, name, email }) => [user_id, name ?? email]));
  const keys = new Map(info.data?.api_keys.map(({ id, name }) => [id, name]));
  return (
    <>
      <Table
        caption={texts.auditLog}
        columns={columnsFor(people, keys)}
        rows={entries}
        keyOf={({ id }) => id}
      />
      <ErrorMessage error={more.error} />
      {cursor !== null && (
        <div class="row center">
          <Button busy={more.isBusy} onClick={more.start}>
            {texts.showOlderEntries}
          </Button>
        </div>
      )}
    </>
  );
}

type Names = ReadonlyMap<string, string>;

function columnsFor(people: Names, keys: Names): TableColumn<AuditLogEntry>[] {
  const known = (id: string) => people.get(id) ?? keys.get(id) ?? id;
  const actorName = (actor: string | null) => {
    if (actor === null) return texts.unknown;
    if (actor === 'system') return texts.server;
    if (actor === 'administrator') return texts.administrator;
    return actor.startsWith('key:') ? fill(texts.keyKey, { key: known(actor.slice(4)) }) : known(actor);
  };
  return [
    { title: texts.time, cell: ({ at }) => <RelativeTime at={at} /> },
    { title: texts.actor, cell: ({ actor }) => actorName(actor) },
    {
      title: texts.action,
      cell: ({ action, details }) => (
        <span class="user-cell">
          <code>{action}</code>
          {Object.keys(details).length > 0 && <span class="hint">{formatDetails(details)}</span>}
        </span>
      ),
    },
    { title: texts.target, cell: ({ target }) => (target === null ? '' : known(target)) },
    { title: texts.address, cell: ({ address }) => (address === null ? null : <code>{address}</code>) },
  ];
}

function formatDetails(details: AuditLogEntry['details']): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}

function ExportMenu({ range }: { readonly range: AuditLogRange }) {
  const [done, setDone] = useState<number | null>(null);
  const start = async (format: ExportFormat) => {
    setDone(0);
    try {
      const all = await exportAuditLog(range, format, setDone);
      showToast(counted(texts.countEntriesExported, all));
    } catch (error) {
      showToast(errorMessage(error), 'bad');
    }
    setDone(null);
  };
  if (done !== null) return <Button busy>{counted(texts.exportingCountEntries, done)}</Button>;
  return (
    <Menu class="button-menu" label={texts.export}>
      <ul>
        <li>
          <button type="button" onClick={() => void start('csv')}>
            {texts.csvForSpreadsheets}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => void start('jsonl')}>
            {texts.jsonLinesForPrograms}
          </button>
        </li>
      </ul>
    </Menu>
  );
}
