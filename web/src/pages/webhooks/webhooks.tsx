import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { EmptyState } from '../../components/empty-state.tsx';
import { LoadError } from '../../components/error-message.tsx';
import { Card, Page } from '../../components/page.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { SkeletonRows } from '../../components/skeleton.tsx';
import { Table, type TableColumn } from '../../components/table.tsx';
import { formatCount } from '../../format/numbers.ts';
import { webhookUrl } from '../../page-urls.ts';
import { useLoad, usePoll } from '../../server/load.ts';
import { organization } from '../../server/session.ts';
import { listWebhooks, type WebhookInfo } from '../../server/webhooks.ts';
import { texts } from '../../texts/en/webhooks.ts';
import { type WebhookDialog, WebhookDialogs, WebhookMenu } from './webhook-dialogs.tsx';
import { WebhookSelection, WebhookStatus } from './webhook-status.tsx';

/** Page of the organization's webhooks. */
export function WebhooksPage() {
  const currentId = organization.value?.organization_id;
  const list = useLoad(listWebhooks, [currentId]);
  const [dialog, setDialog] = useState<WebhookDialog | null>(null);
  usePoll(
    async (abort) => {
      list.replace(await listWebhooks(abort));
      return 'idle';
    },
    [currentId],
  );
  const create = (
    <Button tone="primary" onClick={() => setDialog({ kind: 'create' })}>
      {texts.createWebhook}
    </Button>
  );
  return (
    <Page
      title={texts.webhooks}
      subtitle={texts.changesOfDocumentsAndCollections}
      // An empty list has the button itself.
      actions={list.data?.length === 0 ? undefined : create}
    >
      {list.data === undefined ? (
        list.error === null ? (
          <Card>
            <SkeletonRows />
          </Card>
        ) : (
          <LoadError error={list.error} onRetry={list.reload} />
        )
      ) : list.data.length === 0 ? (
        <EmptyState title={texts.noWebhooksYet} actions={create}>
          {texts.keepACacheAnIndex}
        </EmptyState>
      ) : (
        <Card>
          <Table
            caption={texts.webhooks}
            columns={columnsFor({ onOpenDialog: setDialog, onChanged: list.reload })}
            rows={list.data}
            keyOf={({ webhook_id }) => webhook_id}
          />
        </Card>
      )}
      {dialog !== null && <WebhookDialogs dialog={dialog} onOpenDialog={setDialog} onChanged={list.reload} />}
    </Page>
  );
}

interface RowActions {
  readonly onOpenDialog: (dialog: WebhookDialog) => void;
  readonly onChanged: () => void;
}

function columnsFor({ onOpenDialog, onChanged }: RowActions): TableColumn<WebhookInfo>[] {
  return [
    {
      title: 'URL',
      cell: ({ webhook_id, url, description }) => (
        <span class="user-cell">
          <a class="name" href={webhookUrl(webhook_id)} title={url}>
            {url}
          </a>
          {description !== '' && <span class="hint">{description}</span>}
        </span>
      ),
    },
    { title: texts.changes, cell: (webhook) => <WebhookSelection webhook={webhook} /> },
    { title: texts.status, width: '9rem', cell: (webhook) => <WebhookStatus webhook={webhook} /> },
    {
      title: texts.lastDelivered,
      isNumber: true,
      cell: ({ sequence }) => `#${formatCount(sequence)}`,
    },
    { title: texts.created, cell: ({ created_at: at }) => <RelativeTime at={at} /> },
    {
      title: texts.actions,
      isActions: true,
      width: '5rem',
      cell: (webhook) => <WebhookMenu webhook={webhook} onOpenDialog={onOpenDialog} onChanged={onChanged} />,
    },
  ];
}
