import type { Metrics } from '../core/metrics.ts';
import type { Webhook, Webhooks } from '../storage/webhooks.ts';
import type { WebhookDispatcher, WebhookDispatcherOptions } from './webhook-dispatcher.ts';

/** Returns a function that counts attempts by outcome. */
export function createAttemptCounter(metrics: Metrics): WebhookDispatcherOptions['count'] {
  const increment = metrics.counter({
    name: 'quarry_webhook_attempts_total',
    help: 'Attempts to deliver a change to a webhook, by outcome.',
    labels: ['outcome'],
  });
  return (outcome) => increment({ outcome }, 1);
}

/** Registers metrics of the states of webhooks. */
export function registerWebhookMetrics(
  metrics: Metrics,
  {
    webhooks,
    dispatcher,
  }: {
    readonly webhooks: Pick<Webhooks, 'listAll'>;
    readonly dispatcher: Pick<WebhookDispatcher, 'lagMs'>;
  },
): void {
  metrics.gauges({ name: 'quarry_webhooks', help: 'Webhooks by status.', label: 'status' }, async () => {
    const counts: Record<Webhook['status'], number> = { active: 0, paused: 0, failed: 0 };
    for (const { status } of await webhooks.listAll()) counts[status] += 1;
    return counts;
  });
  metrics.gauge(
    {
      name: 'quarry_webhook_lag_seconds',
      help: 'Longest time since a change that an active webhook has not delivered yet.',
    },
    () => dispatcher.lagMs() / 1_000,
  );
}
