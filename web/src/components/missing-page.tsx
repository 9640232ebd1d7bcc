import { LinkButton } from './button.tsx';
import { EmptyState } from './empty-state.tsx';
import { Page } from './page.tsx';

/**
 * Returns the page of a resource that does not exist, with a link to the list of its kind. Not a component: a page whose
 * resource turns out to be missing must not remount.
 */
export function missingPage(kind: 'Document' | 'Source' | 'Webhook') {
  const plural = `${kind.toLowerCase()}s`;
  return (
    <Page title={kind}>
      <EmptyState
        title={`${kind} not found`}
        actions={<LinkButton href={`/app/${plural}`}>All {plural}</LinkButton>}
      >
        It may have been deleted, or the address is wrong.
      </EmptyState>
    </Page>
  );
}
