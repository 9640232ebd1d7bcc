import type { GetHealthResponse, HealthCheck } from '../../../../src/schemas/installation.ts';
import { Button } from '../../components/button.tsx';
import { Chip, type ChipTone } from '../../components/chip.tsx';
import { DescriptionList } from '../../components/description-list.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Meter } from '../../components/meter.tsx';
import { Card } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { LoadingText, SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatBytes, formatCount } from '../../format/numbers.ts';
import { adminGetHealth } from '../../server/administration.ts';
import { texts } from '../../texts/en/administration.ts';
import { counted } from '../../texts/format-text.ts';
import type { SectionProps } from './administration.tsx';
import { CheckDetail } from './check-detail.tsx';
import { useAdministratorLoad } from './use-administrator-load.ts';

const states: Readonly<Record<HealthCheck['state'], readonly [name: string, ChipTone]>> = {
  failed: [texts.failed, 'bad'],
  warning: [texts.warning, 'warning'],
  ok: ['OK', 'good'],
  skipped: [texts.skipped, 'neutral'],
};
const stateOrder = Object.keys(states);

type HealthComponent = GetHealthResponse['components'][number];

/** Checks of the installation, and the components and figures of the server. */
export function Health({ onDenied }: SectionProps) {
  const health = useAdministratorLoad(adminGetHealth, [], onDenied);
  const { data } = health;
  if (health.error !== null) return <LoadError error={health.error} onRetry={health.reload} />;
  return (
    <>
      <Card
        title={texts.server}
        actions={
          <Button
            busy={data !== undefined && health.isLoading}
            disabled={data === undefined}
            onClick={health.reload}
          >
            {texts.checkAgain}
          </Button>
        }
      >
        <div class="health-state">
          {data === undefined ? <SkeletonRows rows={1} /> : <State health={data} />}
        </div>
        <ServerFigures health={data} />
      </Card>
      <Card title={texts.checks}>
        {data === undefined ? (
          <SkeletonRows rows={8} />
        ) : (
          <Table
            caption={texts.checks}
            columns={checkColumns}
            rows={byState(data.checks)}
            keyOf={({ check }) => check}
          />
        )}
      </Card>
      {data !== undefined && (
        <Card title={texts.components}>
          <Table
            caption={texts.components}
            columns={componentColumns}
            rows={data.components.filter(({ component }) => component !== 'disk')}
            keyOf={({ component }) => component}
          />
        </Card>
      )}
    </>
  );
}

/** Problems first. */
function byState(checks: readonly HealthCheck[]): HealthCheck[] {
  return [...checks].sort((a, b) => stateOrder.indexOf(a.state) - stateOrder.indexOf(b.state));
}

function State({ health: { state, checks, components } }: { readonly health: GetHealthResponse }) {
  const count = (each: HealthCheck['state']) => checks.filter((check) => check.state === each).length;
  const unready = components.filter(({ is_ready }) => !is_ready).length;
  const problems = [
    ...(count('failed') === 0 ? [] : [counted(texts.countChecksFailed, count('failed'))]),
    ...(count('warning') === 0 ? [] : [counted(texts.countWarnings, count('warning'))]),
    ...(unready === 0 ? [] : [counted(texts.countComponentsNotReady, unready)]),
  ];
  const [name, tone] = states[state];
  return (
    <p class="row">
      <Chip tone={tone}>{name}</Chip>
      <span>{problems.length === 0 ? texts.allChecksPassed : `${problems.join(', ')}.`}</span>
    </p>
  );
}

function ServerFigures({ health }: { readonly health: GetHealthResponse | undefined }) {
  const httpServer = health && { uws: 'uWebSockets.js', node: 'node:http' }[health.http_server];
  return (
    <>
      <div class="meters">
        <Meter
          label={texts.memory}
          value={health?.memory_used_bytes}
          max={health?.memory_max_bytes}
          format={formatBytes}
        />
      </div>
      <DescriptionList
        facts={[
          ['Quarry', <LoadingText key="v" value={health?.version} />],
          ['Node.js', <LoadingText key="v" value={health?.node_version} />],
          [texts.httpServer, <LoadingText key="v" value={health && (httpServer ?? health.http_server)} />],
          [
            texts.started,
            health === undefined ? (
              <LoadingText key="v" value={undefined} />
            ) : (
              <RelativeTime key="v" at={health.started_at} />
            ),
          ],
          [
            texts.freeDiskSpace,
            <LoadingText key="v" value={health && formatBytes(health.disk_free_bytes)} />,
          ],
          [
            texts.documentsInTheQueue,
            <LoadingText key="v" value={health && formatCount(health.waiting_documents)} />,
          ],
        ]}
      />
    </>
  );
}

const checkColumns: readonly TableColumn<HealthCheck>[] = [
  { title: texts.check, width: '9rem', cell: ({ check }) => <Name text={check} /> },
  {
    title: texts.state,
    width: '8rem',
    cell: ({ state }) => <Chip tone={states[state][1]}>{states[state][0]}</Chip>,
  },
  {
    title: texts.details,
    cell: ({ detail, advice }) => (
      <span class="user-cell">
        <span>
          <CheckDetail text={detail} />
        </span>
        {advice !== null && (
          <span class="hint">
            <CheckDetail text={advice} />
          </span>
        )}
      </span>
    ),
  },
];

const componentColumns: readonly TableColumn<HealthComponent>[] = [
  { title: texts.component, width: '9rem', cell: ({ component }) => <Name text={component} /> },
  { title: texts.state, width: '8rem', cell: (row) => <ComponentState {...row} /> },
  { title: texts.details, cell: ({ detail }) => <CheckDetail text={detail} /> },
];

/** Optional programs that are missing leave the server ready. */
function ComponentState({ is_ready: isReady, detail }: HealthComponent) {
  if (!isReady) return <Chip tone="warning">{texts.notReady}</Chip>;
  return detail.startsWith('not installed') ? (
    <Chip>{texts.notInstalled}</Chip>
  ) : (
    <Chip tone="good">{texts.ready}</Chip>
  );
}

function Name({ text }: { readonly text: string }) {
  const program = /^tool (.*)$/.exec(text)?.[1];
  if (program !== undefined) return <code>{program}</code>;
  return <strong class="sentence">{/^(tls|ocr)$/.test(text) ? text.toUpperCase() : text}</strong>;
}
