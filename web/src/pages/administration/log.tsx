import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { LogLine } from '../../../../src/schemas/installation.ts';
import { Button } from '../../components/button.tsx';
import { Chip, type ChipTone } from '../../components/chip.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Field } from '../../components/field.tsx';
import { Card } from '../../components/page.tsx';
import { SearchField } from '../../components/search-field.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { formatCounted } from '../../format/numbers.ts';
import { formatDateTime, formatExactTime } from '../../format/times.ts';
import { adminGetLogLines } from '../../server/administration.ts';
import { usePoll } from '../../server/load.ts';
import type { SectionProps } from './administration.tsx';
import { useAdministratorLoad } from './use-administrator-load.ts';

const firstLinesMax = 200;
const shownLinesMax = 2_000;
/** Distance from the end, in pixels, within which the list stays at its end when lines are added. */
const endTolerance = 24;

type Level = LogLine['level'];

const levelNames: Readonly<Record<Level, string>> = {
  debug: 'All levels',
  info: 'Info and above',
  warn: 'Warnings and errors',
  error: 'Errors',
};
const chips: Readonly<Record<Level, readonly [name: string, ChipTone]>> = {
  debug: ['Debug', 'neutral'],
  info: ['Info', 'neutral'],
  warn: ['Warning', 'warning'],
  error: ['Error', 'bad'],
};

/** The last lines of the server log, with new lines as they are written. */
export function Log({ onDenied }: SectionProps) {
  const [level, setLevel] = useState<Level>('debug');
  const [text, setText] = useState('');
  const [isFollowing, setFollowing] = useState(true);
  const filter = { level, text: text.trim() };
  const log = useAdministratorLoad(
    (abort) => adminGetLogLines({ ...filter, limit: firstLinesMax }, abort),
    [filter.level, filter.text],
    onDenied,
  );
  usePoll(
    async (abort) => {
      if (!isFollowing || log.data === undefined) return 'idle';
      const page = await adminGetLogLines({ ...filter, cursor: log.data.next_cursor }, abort);
      const before = log.data.lines;
      const lines = page.lines.length === 0 ? before : [...before, ...page.lines].slice(-shownLinesMax);
      log.replace({ ...page, lines });
      return 'busy';
    },
    [isFollowing, filter.level, filter.text],
  );
  if (log.error !== null) return <LoadError error={log.error} onRetry={log.reload} />;
  const lines = log.data?.lines;
  return (
    <Card title="Log" actions={<span class="muted">{lines && formatCounted(lines.length, 'line')}</span>}>
      <div class="toolbar">
        <Field label="Level">
          {(control) => (
            <select
              {...control}
              value={level}
              onChange={(event) => setLevel(event.currentTarget.value as Level)}
            >
              {Object.entries(levelNames).map(([id, name]) => (
                <option key={id} value={id}>
                  {name}
                </option>
              ))}
            </select>
          )}
        </Field>
        <SearchField label="Search the log" hint="Event, ID or any value" value={text} onInput={setText} />
        <Button aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
          {isFollowing ? 'Pause' : 'Follow'}
        </Button>
      </div>
      {lines === undefined ? (
        <SkeletonRows rows={8} />
      ) : lines.length === 0 ? (
        <EmptyState title="No matching lines">
          The server keeps its last lines in memory since its start. QUARRY_LOG_LEVEL sets the minimum level.
          In a terminal, run “quarry logs --follow”.
        </EmptyState>
      ) : (
        <LineList lines={lines} />
      )}
    </Card>
  );
}

/** List that stays at its end while lines are added, unless the user scrolls up. */
function LineList({ lines }: { readonly lines: readonly LogLine[] }) {
  const list = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  useLayoutEffect(() => {
    if (isAtEnd.current) list.current?.scrollTo({ top: list.current.scrollHeight });
  }, [lines]);
  return (
    <div
      ref={list}
      class="log"
      role="log"
      aria-label="Lines of the log"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < endTolerance;
      }}
    >
      <ol>
        {lines.map((line, i) => (
          <LogRow key={`${line.time} ${i}`} line={line} />
        ))}
      </ol>
    </div>
  );
}

function LogRow({ line: { time, level, event, fields } }: { readonly line: LogLine }) {
  const [name, tone] = chips[level];
  const details = Object.entries(fields).filter(([, value]) => value !== null);
  return (
    <li>
      <time dateTime={time} title={formatDateTime(time)}>
        {formatExactTime(time)}
      </time>
      <Chip tone={tone}>{name}</Chip>
      <span class="log-text">
        <span class="log-event">{event}</span>
        {details.map(([field, value]) => (
          <span key={field} class="log-field">
            <span class="muted">{field}</span> {typeof value === 'string' ? value : JSON.stringify(value)}
          </span>
        ))}
      </span>
    </li>
  );
}
