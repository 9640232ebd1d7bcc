import { useLocation } from 'preact-iso';
import { selectOrganization } from '../server/session.ts';
import { listPageOf } from './list-page.ts';

/** Returns a function that selects an organization. */
export function useOrganizationChoice(): (organizationId: string) => void {
  const { path, url, route } = useLocation();
  return (organizationId) => {
    // The document, source or webhook in the URL may not exist in the other organization.
    const to = listPageOf(path);
    if (url !== to) route(to);
    selectOrganization(organizationId);
  };
}
