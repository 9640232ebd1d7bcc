import { useEffect, useState } from 'preact/hooks';
import type { AuditLogEntry, AuditLogRange } from '../../../../src/schemas/audit.ts';
import { now } from '../../browser/clock.ts';
import { Button } from '../../components/button.tsx';
import { DayField } from '../../components/day-field.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorMessage, LoadError } from '../../components/error-message.tsx';
import { Field } from '../../components/field.tsx';
import { Menu } from '../../components/menu.tsx';
import { Card, Page } from '../../components/page.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { showToast } from '../../components/toasts.tsx';
import { errorMessage } from '../../server/api-call.ts';
import { useLoad } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { getAuditLog, getOrganization } from '../../server/team.ts';
import { useAsyncAction } from '../../server/use-async-action.ts';
import { texts } from '../../texts/en/audit.ts';
import { counted, fill } from '../../texts/format-text.ts';
import { AuditEntries } from './audit-entries.tsx';
import { type ExportFormat, exportAuditLog } from './audit-export.ts';
import { type ActionGroup, actionGroups, isInGroup, type KnownNames } from './audit-phrases.ts';
import { hasRole } from './roles.tsx';

const pageSize = 50;

/** Entries that are read per request to find those that match a filter, and requests for one page of them. */
const filterPageSize = 500;
const filterRequestsMax = 20;

interface Filter {
  readonly range: AuditLogRange;
  /** Null for all. */
  readonly actor: string | null;
  readonly group: ActionGroup | null;
}

type Period = 'all' | 'day' | 'week' | 'month' | 'custom';

/** Page of the organization's audit log. */
export function AuditPage() {
  const [period, setPeriod] = useState<Period>('all');
  const [days, setDays] = useState({ from: '', to: '' });
  const [actor, setActor] = useState<string | null>(null);
  const [group, setGroup] = useState<ActionGroup | null>(null);
  const info = useLoad(getOrganization, [organization.value?.organization_id]);
  if (!hasRole('OWNER')) {
    return (
      <Page title={texts.auditLog}>
        <EmptyState title={texts.ownersOnly}>{texts.onlyOwnersOfThisOrganization}</EmptyState>
      </Page>
    );
  }
  const actors = actorsOf(info.data);
  const range = period === 'custom' ? rangeOf(days.from, days.to) : recentRange(period);
  // Wait for the names: replacing ids by names later would shift the layout.
  const areNamesLoading = info.data === undefined && info.error === null;
  return (
    <Page
      title={texts.auditLog}
      subtitle={texts.actionsInThisOrganization}
      actions={<ExportMenu range={range} />}
    >
      <div class="audit-filters">
        <Choice
          label={texts.actor}
          empty={texts.everyone}
          value={actor}
          options={[...actors]}
          onChange={setActor}
        />
        <Choice
          label={texts.action}
          empty={texts.allActions}
          value={group}
          options={actionGroups.map(([id, name]) => [id, name] as const)}
          onChange={(id) => setGroup(id as ActionGroup | null)}
        />
        <PeriodFields period={period} onPeriod={setPeriod} days={days} onDays={setDays} />
      </div>
      <Card>
        {areNamesLoading ? (
          <SkeletonRows rows={8} />
        ) : (
          <Entries
            key={`${period} ${days.from} ${days.to} ${actor} ${group}`}
            filter={{ range, actor, group }}
            names={actors}
          />
        )}
      </Card>
    </Page>
  );
}

interface PeriodFieldsProps {
  readonly period: Period;
  readonly onPeriod: (period: Period) => void;
  /** Days of a selected period; empty for no limit. */
  readonly days: { readonly from: string; readonly to: string };
  readonly onDays: (days: PeriodFieldsProps['days']) => void;
}

function PeriodFields({ period, onPeriod, days, onDays }: PeriodFieldsProps) {
  return (
    <>
      <Choice
        label={texts.period}
        empty={texts.allTime}
        value={period === 'all' ? null : period}
        options={[
          ['day', texts.last24Hours],
          ['week', texts.last7Days],
          ['month', texts.last30Days],
          ['custom', texts.selectedDays],
        ]}
        onChange={(id) => onPeriod((id ?? 'all') as Period)}
      />
      {period === 'custom' && (
        <>
          <DayField label={texts.from} value={days.from} onChange={(from) => onDays({ ...days, from })} />
          <DayField label={texts.to} value={days.to} onChange={(to) => onDays({ ...days, to })} />
        </>
      )}
    </>
  );
}

interface ChoiceProps {
  readonly label: string;
  /** Label of the choice of no filter. */
  readonly empty: string;
  readonly value: string | null;
  readonly options: readonly (readonly [id: string, name: string])[];
  readonly onChange: (id: string | null) => void;
}

function Choice({ label, empty, value, options, onChange }: ChoiceProps) {
  return (
    <Field label={label}>
      {(control) => (
        <select
          {...control}
          value={value ?? ''}
          onChange={(event) => onChange(event.currentTarget.value || null)}
        >
          <option value="">{empty}</option>
          {options.map(([id, name]) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Members and API keys by the ID that entries have for them as an actor. */
function actorsOf(
  info: Awaited<ReturnType<typeof getOrganization>> | undefined,
): ReadonlyMap<string, string> {
  if (info === undefined) return new Map();
  return new Map([
    ...info.users.map(({ user_id, name, email }) => [user_id, name ?? email] as const),
    ...info.api_keys.map(({ id, name }) => [`key:${id}`, fill(texts.keyKey, { key: name })] as const),
    ['system', texts.server] as const,
    ['administrator', texts.administrator] as const,
  ]);
}

const periodDays = { day: 1, week: 7, month: 30 } as const;

function recentRange(period: Exclude<Period, 'custom'>): AuditLogRange {
  if (period === 'all') return {};
  return { since: new Date(now() - periodDays[period] * 86_400_000).toISOString() };
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

interface EntryPage {
  readonly entries: readonly AuditLogEntry[];
  /** Null on the last page. */
  readonly cursor: string | null;
}

/** Entries that match a filter. The server selects the time, this function the rest, in a limited number of requests. */
async function loadEntries(filter: Filter, start: string | null, abort?: AbortSignal): Promise<EntryPage> {
  const { range, actor, group } = filter;
  const isFiltered = actor !== null || group !== null;
  const matches = (entry: AuditLogEntry) =>
    (actor === null || entry.actor === actor) && (group === null || isInGroup(entry, group));
  const entries: AuditLogEntry[] = [];
  let cursor = start;
  for (let requests = 0; requests < filterRequestsMax; requests += 1) {
    const limit = isFiltered ? filterPageSize : pageSize;
    const page = await getAuditLog({ ...range, limit, ...(cursor === null ? {} : { cursor }) }, abort);
    entries.push(...page.entries.filter(matches));
    cursor = page.next_cursor;
    if (cursor === null || entries.length >= pageSize) break;
  }
  return { entries, cursor };
}

interface EntriesProps {
  readonly filter: Filter;
  readonly names: KnownNames;
}

function Entries({ filter, names }: EntriesProps) {
  const first = useLoad((abort) => loadEntries(filter, null, abort), [organization.value?.organization_id]);
  const [older, setOlder] = useState<readonly AuditLogEntry[]>([]);
  const [cursor, setCursor] = useState<string | null>(null);
  useEffect(() => {
    setOlder([]);
    setCursor(first.data?.cursor ?? null);
  }, [first.data]);
  const more = useAsyncAction(async () => {
    const page = await loadEntries(filter, cursor);
    setOlder((before) => [...before, ...page.entries]);
    setCursor(page.cursor);
  });
  if (first.data === undefined) {
    return first.error === null ? (
      <SkeletonRows rows={8} />
    ) : (
      <LoadError error={first.error} onRetry={first.reload} />
    );
  }
  const entries = [...first.data.entries, ...older];
  return (
    <>
      {entries.length === 0 && <p class="empty-note">{texts.noMatchingEntries}</p>}
      {entries.length > 0 && <AuditEntries entries={entries} names={names} />}
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
