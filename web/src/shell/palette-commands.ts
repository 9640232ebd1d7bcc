import { useLocation } from 'preact-iso';
import { showToast } from '../components/toasts.tsx';
import { fuzzyScore } from '../format/fuzzy-match.ts';
import { documentsUrl, querySearchUrl } from '../page-urls.ts';
import { hasRole } from '../pages/team/roles.tsx';
import { errorMessage } from '../server/api-call.ts';
import { organization, organizations, signOut } from '../server/session.ts';
import type { IconName } from './icons.tsx';
import { navigationEntries } from './navigation-entries.ts';
import { useOrganizationChoice } from './organization-choice.ts';
import { openOverlay } from './overlay-state.ts';
import { setTheme } from './theme.ts';

/** Commands of the palette, and the filter. */

const groupNames = ['Search', 'Pages', 'Collections', 'Organizations', 'Actions'] as const;
type GroupName = (typeof groupNames)[number];

export interface Command {
  /** Unique within all commands. */
  readonly id: string;
  readonly group: GroupName;
  readonly name: string;
  readonly icon: IconName;
  readonly run: () => void;
}

/** Maximum number of commands shown per group. */
const groupSize = 8;

export function useCommands(collections: readonly string[]): readonly Command[] {
  const { route } = useLocation();
  const chooseOrganization = useOrganizationChoice();
  const others = organizations.value.filter(
    ({ organization_id: id }) => id !== organization.value?.organization_id,
  );
  const open = (group: GroupName, name: string, { icon, to }: { icon: IconName; to: string }): Command => ({
    id: `${group} ${to}`,
    group,
    name,
    icon,
    run: () => route(to),
  });
  return [
    ...navigationEntries().map(({ name, icon, to }) => open('Pages', name, { icon, to })),
    open('Pages', 'Your settings', { icon: 'settings', to: '/app/settings' }),
    ...collections.map((name) => open('Collections', name, { icon: 'collections', to: documentsUrl(name) })),
    ...others.map(
      ({ organization_id: id, name }): Command => ({
        id: `organization ${id}`,
        group: 'Organizations',
        name,
        icon: 'members',
        run: () => chooseOrganization(id),
      }),
    ),
    open('Actions', 'Upload documents', { icon: 'upload', to: '/app/upload' }),
    open('Actions', 'API console', { icon: 'documents', to: '/app/console' }),
    open('Actions', 'Create or join an organization', { icon: 'plus', to: '/app/organizations' }),
    ...(hasRole('ADMIN') ? [open('Actions', 'Create API key', { icon: 'keys', to: '/app/keys' })] : []),
    ...actions(),
  ];
}

function actions(): Command[] {
  const action = (name: string, icon: IconName, run: () => void): Command => ({
    id: `action ${name}`,
    group: 'Actions',
    name,
    icon,
    run,
  });
  return [
    action('Light appearance', 'settings', () => setTheme('light')),
    action('Dark appearance', 'settings', () => setTheme('dark')),
    action('Use the appearance of the system', 'settings', () => setTheme('auto')),
    action('Keyboard shortcuts', 'menu', () => openOverlay('shortcuts')),
    action('API documentation', 'documents', () => window.open('/docs', '_blank', 'noreferrer')),
    action('Sign out', 'next', () => {
      signOut().catch((error: unknown) => showToast(errorMessage(error), 'bad'));
    }),
  ];
}

export interface CommandGroup {
  readonly name: GroupName;
  readonly commands: readonly Command[];
}

/** Returns the commands that match, best first, in groups; a search for the text comes last. */
export function filterCommands(
  all: readonly Command[],
  typed: string,
  search: (query: string) => void,
): readonly CommandGroup[] {
  const ranked = all
    .flatMap((command) => {
      const score = fuzzyScore(typed, command.name);
      return score === null ? [] : [{ command, score }];
    })
    .sort((one, other) => other.score - one.score)
    .map(({ command }) => command);
  const groups = [...new Set(typed === '' ? groupNames : ranked.map(({ group }) => group))];
  const found = groups
    .map((name) => ({
      name,
      commands: ranked.filter(({ group }) => group === name).slice(0, groupSizeOf(name)),
    }))
    .filter(({ commands }) => commands.length > 0);
  const query = typed.trim();
  if (query === '') return found;
  const command: Command = {
    id: 'search',
    group: 'Search',
    name: `Search documents for “${query}”`,
    icon: 'search',
    run: () => search(query),
  };
  return [...found, { name: 'Search', commands: [command] }];
}

/** All pages are listed: the user may not know their names. */
function groupSizeOf(name: GroupName): number {
  return name === 'Pages' || name === 'Actions' ? Number.POSITIVE_INFINITY : groupSize;
}

export function useSearchCommand(): (query: string) => void {
  const { route } = useLocation();
  return (query) => route(querySearchUrl(query));
}
