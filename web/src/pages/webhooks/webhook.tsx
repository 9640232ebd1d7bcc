import { useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { Button } from '../../components/button.tsx';
import { Chip } from '../../components/chip.tsx';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { CopyIcon } from '../../components/copy-button.tsx';
import { DescriptionList } from '../../components/description-list.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { RadioGroup } from '../../components/field.tsx';
import { missingPage } from '../../components/missing-page.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { showToast } from '../../components/toasts.tsx';
import { formatCount, formatDuration } from '../../format/numbers.ts';
import { formatDate } from '../../format/times.ts';
import { isNotFound } from '../../server/api-call.ts';
import { useLoad, usePoll } from '../../server/load.ts';
import {
  type DeliveryInfo,
  listDeliveries,
  listWebhooks,
  replayWebhook,
  type WebhookInfo,
} from '../../server/webhooks.ts';
import { texts } from '../../texts/en/webhooks.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import {
  sendTest,
  setWebhookStatus,
  type WebhookDialog,
  WebhookDialogs,
  WebhookMenu,
} from './webhook-dialogs.tsx';
import { WebhookSelection, WebhookStatus } from './webhook-status.tsx';

/** Page of one webhook: state, test, last deliveries. */
export function WebhookPage() {
  const { id } = useLocation().query;
  return id === undefined ? missingPage('webhook') : <WebhookView key={id} id={id} />;
}

interface WebhookDetails {
  /** Null if it does not exist. */
  readonly webhook: WebhookInfo | null;
  readonly deliveries: readonly DeliveryInfo[];
}

async function loadDetails(id: string, abort: AbortSignal): Promise<WebhookDetails> {
  const all = await listWebhooks(abort);
  const webhook = all.find(({ webhook_id }) => webhook_id === id) ?? null;
  if (webhook === null) return { webhook, deliveries: [] };
  try {
    return { webhook, deliveries: await listDeliveries(id, abort) };
  } catch (error) {
    // Deleted between the two calls.
    if (isNotFound(error)) return { webhook: null, deliveries: [] };
    throw error;
  }
}

function WebhookView({ id }: { readonly id: string }) {
  const { route } = useLocation();
  const details = useLoad((abort) => loadDetails(id, abort), []);
  const [dialog, setDialog] = useState<WebhookDialog | null>(null);
  const newest = details.data?.deliveries[0]?.attempted_at;
  usePoll(
    async (abort) => {
      const next = await loadDetails(id, abort);
      details.replace(next);
      return next.deliveries[0]?.attempted_at === newest ? 'idle' : 'busy';
    },
    [newest],
  );
  const webhook = details.data?.webhook;
  if (webhook === null) return missingPage('webhook');
  return (
    <Page
      title={webhook?.url ?? texts.webhook}
      crumbs={[{ title: texts.webhooks, href: '/app/webhooks' }]}
      {...(webhook === undefined || webhook.description === '' ? {} : { subtitle: webhook.description })}
      actions={
        webhook && (
          <>
            <TestButton webhook={webhook} />
            <WebhookMenu webhook={webhook} onOpenDialog={setDialog} onChanged={details.reload} />
          </>
        )
      }
    >
      {details.data === undefined || webhook === undefined ? (
        details.error === null ? (
          <Card>
            <SkeletonRows />
          </Card>
        ) : (
          <LoadError error={details.error} onRetry={details.reload} />
        )
      ) : (
        <>
          <StateCard webhook={webhook} deliveries={details.data.deliveries} onChanged={details.reload} />
          <Deliveries webhook={webhook} rows={details.data.deliveries} onReplayed={details.reload} />
        </>
      )}
      {dialog !== null && (
        <WebhookDialogs
          dialog={dialog}
          onOpenDialog={setDialog}
          onChanged={details.reload}
          onDeleted={() => route('/app/webhooks')}
        />
      )}
    </Page>
  );
}

function TestButton({ webhook }: { readonly webhook: WebhookInfo }) {
  const [isBusy, setBusy] = useState(false);
  return (
    <Button
      busy={isBusy}
      onClick={() => {
        setBusy(true);
        void sendTest(webhook).finally(() => setBusy(false));
      }}
    >
      {texts.sendTest}
    </Button>
  );
}

/** Number of the last change that was delivered, and when, if that delivery is still listed. */
function LastDelivered({ sequence, deliveries }: { sequence: number; deliveries: readonly DeliveryInfo[] }) {
  const delivery = deliveries.find((each) => each.sequence === sequence && each.error === null);
  if (sequence === 0) return <>{texts.noneYet}</>;
  return (
    <>
      #{formatCount(sequence)}
      {delivery !== undefined && (
        <>
          , <RelativeTime at={delivery.attempted_at} />
        </>
      )}
    </>
  );
}

interface StateCardProps {
  readonly webhook: WebhookInfo;
  readonly deliveries: readonly DeliveryInfo[];
  readonly onChanged: () => void;
}

function StateCard({ webhook, deliveries, onChanged }: StateCardProps) {
  const { webhook_id: id, status, failure, failed_attempts: failed, sequence } = webhook;
  const canRetry = status !== 'active' || failed > 0;
  return (
    <Card
      title={texts.state}
      actions={
        canRetry && (
          <Button tone="ghost" onClick={() => void setWebhookStatus(webhook, 'active', onChanged)}>
            {status === 'active' ? texts.retryNow : texts.activate}
          </Button>
        )
      }
    >
      {failure !== null && <p class="error-text">{failure}</p>}
      <DescriptionList
        facts={[
          [texts.status, <WebhookStatus key="status" webhook={webhook} />],
          [texts.changes, <WebhookSelection key="changes" webhook={webhook} />],
          [texts.lastDelivered, <LastDelivered key="last" sequence={sequence} deliveries={deliveries} />],
          [texts.created, formatDate(webhook.created_at)],
          [
            'ID',
            <span key="id" class="id-value">
              <code>{id}</code>
              <CopyIcon text={id} label={texts.copyId} />
            </span>,
          ],
        ]}
      />
    </Card>
  );
}

interface DeliveriesProps {
  readonly webhook: WebhookInfo;
  readonly rows: readonly DeliveryInfo[];
  readonly onReplayed: () => void;
}

function Deliveries({ webhook, rows, onReplayed }: DeliveriesProps) {
  const [replayed, setReplayed] = useState<DeliveryInfo | null>(null);
  const [selection, setSelection] = useState<'all' | 'failed'>('all');
  const shown = selection === 'all' ? rows : rows.filter(({ error }) => error !== null);
  return (
    <Card
      title={texts.deliveries}
      actions={
        <RadioGroup
          legend={texts.deliveriesToShow}
          name="deliveries"
          value={selection}
          options={[
            ['all', texts.all],
            ['failed', texts.failed],
          ]}
          onChange={setSelection}
        />
      }
    >
      {rows.length === 0 ? (
        <p class="empty-note">{texts.noDeliveriesYetTheNext}</p>
      ) : shown.length === 0 ? (
        <p class="empty-note">{texts.noDeliveryFailed}</p>
      ) : (
        <Table
          caption={texts.deliveries}
          columns={columnsFor(setReplayed)}
          rows={shown}
          keyOf={({ attempted_at, sequence }) => `${attempted_at} ${sequence}`}
        />
      )}
      {replayed !== null && (
        <ConfirmDialog
          title={fill(texts.replayFromChangeSequence, { sequence: formatCount(replayed.sequence) })}
          action={texts.replay}
          tone="primary"
          onClose={() => setReplayed(null)}
          onConfirm={async () => {
            await replayWebhook(webhook.webhook_id, replayed.sequence);
            showToast(
              fill(texts.changesStartingWithSequenceAre, { sequence: formatCount(replayed.sequence) }),
            );
            onReplayed();
          }}
        >
          <p>{rich(texts.thisChangeAndAllLater, { id: <code>id</code> })}</p>
        </ConfirmDialog>
      )}
    </Card>
  );
}

function columnsFor(onReplay: (delivery: DeliveryInfo) => void): TableColumn<DeliveryInfo>[] {
  return [
    {
      title: texts.change,
      cell: ({ sequence, type }) => (
        <span class="user-cell">
          <code>{type}</code>
          <span class="hint">#{formatCount(sequence)}</span>
        </span>
      ),
    },
    {
      title: texts.outcome,
      cell: ({ status, error }) => (
        <span class="user-cell">
          <span>
            <Chip tone={error === null ? 'good' : 'bad'}>
              {`${error === null ? texts.accepted : texts.failed}${status === null ? '' : ` (${status})`}`}
            </Chip>
          </span>
          {error !== null && <span class="hint">{error}</span>}
        </span>
      ),
    },
    { title: texts.duration, isNumber: true, cell: ({ milliseconds }) => formatDuration(milliseconds) },
    { title: texts.time, cell: ({ attempted_at: at }) => <RelativeTime at={at} /> },
    {
      title: texts.actions,
      isActions: true,
      cell: (delivery) => (
        <Button
          tone="ghost"
          aria-label={fill(texts.replayFromChangeSequence2, { sequence: delivery.sequence })}
          onClick={() => onReplay(delivery)}
        >
          {texts.replay2}
        </Button>
      ),
    },
  ];
}
