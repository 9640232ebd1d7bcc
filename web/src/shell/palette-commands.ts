import { useLocation } from 'preact-iso';
import { showToast } from '../components/toasts.tsx';
import { fuzzyScore } from '../format/fuzzy-match.ts';
import { documentsUrl, querySearchUrl } from '../page-urls.ts';
import { hasRole } from '../pages/team/roles.tsx';
import { errorMessage } from '../server/api-call.ts';
import { organization, organizations, signOut } from '../server/session.ts';
import { texts } from '../texts/en/overlays.ts';
import { fill } from '../texts/format-text.ts';
import type { IconName } from './icons.tsx';
import { navigationEntries } from './navigation-entries.ts';
import { useOrganizationChoice } from './organization-choice.ts';
import { openOverlay } from './overlay-state.ts';
import { setTheme } from './theme.ts';

/** Commands of the palette, and the filter. */

const groupNames = [
  texts.search,
  texts.pages,
  texts.collections,
  texts.organizations,
  texts.actions,
] as const;
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
    ...navigationEntries().map(({ name, icon, to }) => open(texts.pages, name, { icon, to })),
    open(texts.pages, texts.yourSettings, { icon: 'settings', to: '/app/settings' }),
    ...collections.map((name) =>
      open(texts.collections, name, { icon: 'collections', to: documentsUrl(name) }),
    ),
    ...others.map(
      ({ organization_id: id, name }): Command => ({
        id: `organization ${id}`,
        group: texts.organizations,
        name,
        icon: 'members',
        run: () => chooseOrganization(id),
      }),
    ),
    open(texts.actions, texts.uploadDocuments, { icon: 'upload', to: '/app/upload' }),
    open(texts.actions, texts.createOrJoinAnOrganization, { icon: 'plus', to: '/app/organizations' }),
    ...(hasRole('ADMIN') ? [open(texts.actions, texts.createApiKey, { icon: 'keys', to: '/app/keys' })] : []),
    ...actions(),
  ];
}

function actions(): Command[] {
  const action = (name: string, icon: IconName, run: () => void): Command => ({
    id: `action ${name}`,
    group: texts.actions,
    name,
    icon,
    run,
  });
  return [
    action(texts.lightAppearance, 'settings', () => setTheme('light')),
    action(texts.darkAppearance, 'settings', () => setTheme('dark')),
    action(texts.useTheAppearanceOfThe, 'settings', () => setTheme('auto')),
    action(texts.keyboardShortcuts, 'menu', () => openOverlay('shortcuts')),
    action(texts.apiDocumentation, 'documents', () => window.open('/docs', '_blank', 'noreferrer')),
    action(texts.signOut, 'next', () => {
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
    group: texts.search,
    name: fill(texts.searchDocumentsForQuery, { query }),
    icon: 'search',
    run: () => search(query),
  };
  return [...found, { name: texts.search, commands: [command] }];
}

/** All pages are listed: the user may not know their names. */
function groupSizeOf(name: GroupName): number {
  return name === 'Pages' || name === 'Actions' ? Number.POSITIVE_INFINITY : groupSize;
}

export function useSearchCommand(): (query: string) => void {
  const { route } = useLocation();
  return (query) => route(querySearchUrl(query));
}
