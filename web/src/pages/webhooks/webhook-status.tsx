import { Chip } from '../../components/chip.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { formatCount, formatCounted } from '../../format/numbers.ts';
import type { WebhookInfo } from '../../server/webhooks.ts';

/** State of a webhook, and when a failed delivery is tried again. */
export function WebhookStatus({ webhook }: { readonly webhook: WebhookInfo }) {
  const { status, failed_attempts: failed, next_attempt_at: next } = webhook;
  if (status === 'paused') return <Chip>Paused</Chip>;
  if (status === 'failed') return <Chip tone="bad">Failed</Chip>;
  if (failed === 0) return <Chip tone="good">Active</Chip>;
  return (
    <span class="user-cell">
      <span>
        <Chip tone="warning">Retrying</Chip>
      </span>
      <span class="hint">
        Attempt {formatCount(failed + 1)} {next !== null && <RelativeTime at={next} />}
      </span>
    </span>
  );
}

/** Which changes a webhook delivers. */
export function WebhookSelection({ webhook }: { readonly webhook: WebhookInfo }) {
  const { types, collection_names: names } = webhook;
  return (
    <span class="chips">
      <Chip>{describe(types, 'type', 'All types')}</Chip>
      {names !== null && <Chip>{describe(names, 'collection', 'All collections')}</Chip>}
    </span>
  );
}

function describe(selected: readonly string[] | null, noun: string, all: string): string {
  if (selected === null) return all;
  const [only] = selected;
  return selected.length === 1 && only !== undefined ? only : formatCounted(selected.length, noun);
}
