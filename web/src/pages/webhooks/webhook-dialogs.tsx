import { useRef } from 'preact/hooks';
import { ConfirmDialog } from '../../components/confirm-dialog.tsx';
import { Menu } from '../../components/menu.tsx';
import { SecretDialog } from '../../components/secret-dialog.tsx';
import { showToast } from '../../components/toasts.tsx';
import { errorMessage } from '../../server/api-call.ts';
import {
  deleteWebhook,
  rotateWebhookSecret,
  testWebhook,
  updateWebhook,
  type WebhookInfo,
} from '../../server/webhooks.ts';
import { Icon } from '../../shell/icons.tsx';
import { texts } from '../../texts/en/webhooks.ts';
import { fill } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';
import { WebhookForm } from './webhook-form.tsx';

export type WebhookDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'secret'; readonly secret: string }
  | { readonly kind: 'edit' | 'rotate' | 'delete'; readonly webhook: WebhookInfo };

interface WebhookDialogsProps {
  readonly dialog: WebhookDialog;
  readonly onOpenDialog: (dialog: WebhookDialog | null) => void;
  readonly onChanged: () => void;
  readonly onDeleted?: () => void;
}

/** The open dialog of the pages of webhooks. */
export function WebhookDialogs({
  dialog,
  onOpenDialog,
  onChanged,
  onDeleted = onChanged,
}: WebhookDialogsProps) {
  const close = () => onOpenDialog(null);
  switch (dialog.kind) {
    case 'create':
    case 'edit':
      return (
        <WebhookForm
          before={dialog.kind === 'edit' ? dialog.webhook : null}
          onClose={close}
          onDone={(created) => {
            onChanged();
            if (created === null) showToast(texts.webhookUpdated);
            onOpenDialog(created && { kind: 'secret', secret: created.secret });
          }}
        />
      );
    case 'secret':
      return (
        <SecretDialog kind="secret" secret={dialog.secret} onClose={close}>
          {texts.yourServerVerifiesTheSignature}
        </SecretDialog>
      );
    case 'rotate':
      return <RotateDialog webhook={dialog.webhook} onOpenDialog={onOpenDialog} />;
    case 'delete':
      return (
        <ConfirmDialog
          title={texts.deleteWebhook}
          action={texts.deleteWebhook2}
          onClose={close}
          onConfirm={async () => {
            await deleteWebhook(dialog.webhook.webhook_id);
            showToast(texts.webhookDeleted);
            onDeleted();
          }}
        >
          <p>{rich(texts.noMoreChangesAreSent, { url: <strong>{dialog.webhook.url}</strong> })}</p>
        </ConfirmDialog>
      );
  }
}

/** After the confirmation, the new secret takes the place of this dialog. */
function RotateDialog({
  webhook,
  onOpenDialog,
}: Pick<WebhookDialogsProps, 'onOpenDialog'> & { readonly webhook: WebhookInfo }) {
  const secret = useRef<string | null>(null);
  return (
    <ConfirmDialog
      title={texts.replaceSecret}
      action={texts.replaceSecret2}
      tone="primary"
      onClose={() =>
        onOpenDialog(secret.current === null ? null : { kind: 'secret', secret: secret.current })
      }
      onConfirm={async () => {
        secret.current = (await rotateWebhookSecret(webhook.webhook_id)).secret;
      }}
    >
      <p>{texts.forADayMessagesAre}</p>
    </ConfirmDialog>
  );
}

/** Sends a test message and shows the outcome. */
export async function sendTest({ webhook_id }: WebhookInfo): Promise<void> {
  try {
    const { delivered, status, error, milliseconds } = await testWebhook(webhook_id);
    if (delivered)
      showToast(fill(texts.theTestWasAcceptedWith, { status: status ?? '', milliseconds }), 'good', {
        topic: webhook_id,
      });
    else showToast(fill(texts.theTestWasNotAccepted, { error: error ?? '' }), 'bad', { topic: webhook_id });
  } catch (error) {
    showToast(errorMessage(error), 'bad');
  }
}

/** Pauses or activates a webhook; activating also retries at once. */
export async function setWebhookStatus(
  { webhook_id }: WebhookInfo,
  status: 'active' | 'paused',
  onChanged: () => void,
): Promise<void> {
  try {
    await updateWebhook({ webhook_id, status });
    showToast(status === 'paused' ? texts.webhookPaused : texts.webhookActive, 'good', { topic: webhook_id });
    onChanged();
  } catch (error) {
    showToast(errorMessage(error), 'bad');
  }
}

interface WebhookMenuProps {
  readonly webhook: WebhookInfo;
  readonly onOpenDialog: (dialog: WebhookDialog) => void;
  readonly onChanged: () => void;
}

export function WebhookMenu({ webhook, onOpenDialog, onChanged }: WebhookMenuProps) {
  const next = webhook.status === 'active' ? 'paused' : 'active';
  return (
    <Menu class="at-end" name={fill(texts.actionsForUrl, { url: webhook.url })} label={<Icon name="more" />}>
      <ul>
        <li>
          <button type="button" onClick={() => void sendTest(webhook)}>
            {texts.sendTest}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => void setWebhookStatus(webhook, next, onChanged)}>
            {next === 'paused' ? texts.pause : texts.activate}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => onOpenDialog({ kind: 'edit', webhook })}>
            {texts.edit}
          </button>
        </li>
        <li>
          <button type="button" onClick={() => onOpenDialog({ kind: 'rotate', webhook })}>
            {texts.replaceSecret3}
          </button>
        </li>
        <li class="apart">
          <button type="button" class="danger" onClick={() => onOpenDialog({ kind: 'delete', webhook })}>
            {texts.delete}
          </button>
        </li>
      </ul>
    </Menu>
  );
}
