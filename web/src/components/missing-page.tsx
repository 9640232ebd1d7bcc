import { texts } from '../texts/en/components.ts';
import { LinkButton } from './button.tsx';
import { EmptyState } from './empty-state.tsx';
import { Page } from './page.tsx';

const kinds = {
  collection: { title: texts.collection, heading: texts.collectionNotFound, label: texts.allCollections },
  document: { title: texts.document, heading: texts.documentNotFound, label: texts.allDocuments },
  source: { title: texts.source, heading: texts.sourceNotFound, label: texts.allSources },
  webhook: { title: texts.webhook, heading: texts.webhookNotFound, label: texts.allWebhooks },
};

/**
 * Returns the page of a resource that does not exist, with a link to the list of its kind. Not a component: a page whose
 * resource turns out to be missing must not remount.
 */
export function missingPage(kind: keyof typeof kinds) {
  const { title, heading, label } = kinds[kind];
  return (
    <Page title={title}>
      <EmptyState title={heading} actions={<LinkButton href={`/app/${kind}s`}>{label}</LinkButton>}>
        {texts.itMayHaveBeenDeleted}
      </EmptyState>
    </Page>
  );
}
