import type { ResourceStack } from './resource-stack.ts';
import { openSources } from './sources.ts';
import { openWebhooks } from './webhooks.ts';

type SourceInputs = Parameters<typeof openSources>[2];

/** Opens the connections of organizations to other systems: sources of documents, and webhooks. */
export function openIntegrations(
  settings: Parameters<typeof openSources>[0],
  resources: ResourceStack,
  inputs: SourceInputs,
) {
  const { services: sources, scheduler } = openSources(settings, resources, inputs);
  const { services: webhooks, dispatcher } = openWebhooks(settings, resources, inputs);
  return { sources, scheduler, webhooks, dispatcher };
}
