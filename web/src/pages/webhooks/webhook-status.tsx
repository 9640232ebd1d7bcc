import { Chip, Tag } from '../../components/chip.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { formatCount } from '../../format/numbers.ts';
import type { WebhookInfo } from '../../server/webhooks.ts';
import { texts } from '../../texts/en/webhooks.ts';
import { counted } from '../../texts/format-text.ts';
import { rich } from '../../texts/rich-text.ts';

/** State of a webhook, and when a failed delivery is tried again. */
export function WebhookStatus({ webhook }: { readonly webhook: WebhookInfo }) {
  const { status, failed_attempts: failed, next_attempt_at: next } = webhook;
  if (status === 'paused') return <Chip>{texts.paused}</Chip>;
  if (status === 'failed') return <Chip tone="bad">{texts.failed}</Chip>;
  if (failed === 0) return <Chip tone="good">{texts.active}</Chip>;
  return (
    <span class="user-cell">
      <span>
        <Chip tone="warning">{texts.retrying}</Chip>
      </span>
      <span class="hint">
        {rich(texts.attemptFailedNext, {
          failed: formatCount(failed + 1),
          next: next !== null && <RelativeTime at={next} />,
        })}
      </span>
    </span>
  );
}

/** Which changes a webhook delivers. */
export function WebhookSelection({ webhook }: { readonly webhook: WebhookInfo }) {
  const { types, collection_names: names } = webhook;
  return (
    <span class="chips">
      <Tag>{describe(types, counted(texts.countTypes, types?.length ?? 0), texts.allTypes)}</Tag>
      {names !== null && (
        <Tag>{describe(names, counted(texts.countCollections, names.length), texts.allCollections)}</Tag>
      )}
    </span>
  );
}

function describe(selected: readonly string[] | null, counted: string, all: string): string {
  if (selected === null) return all;
  const [only] = selected;
  return selected.length === 1 && only !== undefined ? only : counted;
}
