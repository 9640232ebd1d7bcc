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
import { formatDate, formatDateTime, formatExactTime } from '../../format/times.ts';
import { adminGetLogLines } from '../../server/administration.ts';
import { usePoll } from '../../server/load.ts';
import { texts } from '../../texts/en/administration.ts';
import { counted } from '../../texts/format-text.ts';
import type { SectionProps } from './administration.tsx';
import { useAdministratorLoad } from './use-administrator-load.ts';

const firstLinesMax = 200;
const shownLinesMax = 2_000;
/** Distance from the end, in pixels, within which the list stays at its end when lines are added. */
const endTolerance = 24;

type Level = LogLine['level'];

const levelNames: Readonly<Record<Level, string>> = {
  debug: texts.allLevels,
  info: texts.infoAndAbove,
  warn: texts.warningsAndErrors,
  error: texts.errors,
};
const chips: Readonly<Record<Level, readonly [name: string, ChipTone]>> = {
  debug: [texts.debug, 'neutral'],
  info: [texts.info, 'neutral'],
  warn: [texts.warning, 'warning'],
  error: [texts.error, 'bad'],
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
    <Card>
      <div class="toolbar">
        <Field label={texts.level}>
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
        <SearchField
          label={texts.searchTheLog}
          hint={texts.eventIdOrAnyValue}
          value={text}
          onInput={setText}
        />
        <Button aria-pressed={isFollowing} onClick={() => setFollowing(!isFollowing)}>
          {isFollowing ? texts.pause : texts.follow}
        </Button>
        <p class="toolbar-count">{lines && counted(texts.countLines, lines.length)}</p>
      </div>
      {lines === undefined ? (
        <SkeletonRows rows={8} />
      ) : lines.length === 0 ? (
        <EmptyState title={texts.noMatchingLines}>{texts.theServerKeepsItsLast}</EmptyState>
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
      aria-label={texts.linesOfTheLog}
      tabIndex={0}
      onScroll={({ currentTarget: { scrollHeight, scrollTop, clientHeight } }) => {
        isAtEnd.current = scrollHeight - scrollTop - clientHeight < endTolerance;
      }}
    >
      <ol>
        {lines.map((line, i) => (
          <LogRow key={`${line.time} ${i}`} line={line} isFirstOfDay={dayOf(line) !== dayOf(lines[i - 1])} />
        ))}
      </ol>
    </div>
  );
}

function dayOf(line: LogLine | undefined): string {
  return line === undefined ? '' : formatDate(line.time);
}

interface LogRowProps {
  readonly line: LogLine;
  readonly isFirstOfDay: boolean;
}

/** One line; opened, all of its fields. */
function LogRow({ line: { time, level, event, fields }, isFirstOfDay }: LogRowProps) {
  const [name, tone] = chips[level];
  const details = Object.entries(fields).filter(([, value]) => value !== null);
  return (
    <li>
      {isFirstOfDay && <p class="log-day">{formatDate(time)}</p>}
      <details>
        <summary>
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
        </summary>
      </details>
    </li>
  );
}
