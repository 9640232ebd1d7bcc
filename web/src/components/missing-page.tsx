import { LinkButton } from './button.tsx';
import { EmptyState } from './empty-state.tsx';
import { Page } from './page.tsx';

const kinds = {
  document: { title: 'Document', heading: 'Document not found', label: 'All documents' },
  source: { title: 'Source', heading: 'Source not found', label: 'All sources' },
  webhook: { title: 'Webhook', heading: 'Webhook not found', label: 'All webhooks' },
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
        It may have been deleted, or the address is wrong.
      </EmptyState>
    </Page>
  );
}
