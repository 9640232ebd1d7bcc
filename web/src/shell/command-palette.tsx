import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Dialog } from '../components/dialog.tsx';
import { useLoad } from '../server/load.ts';
import { listCollections } from '../server/retrieval.ts';
import { organization } from '../server/session.ts';
import { texts } from '../texts/en/overlays.ts';
import { counted } from '../texts/format-text.ts';
import { Icon } from './icons.tsx';
import type { OverlayProps } from './overlay-state.ts';
import {
  type Command,
  type CommandGroup,
  filterCommands,
  useCommands,
  useSearchCommand,
} from './palette-commands.ts';

/** List of pages, collections, organizations and actions that is filtered while the user types. */
export function CommandPalette({ onClose }: OverlayProps) {
  const hasOrganization = organization.value !== null;
  const collections = useLoad(
    async (abort) => (hasOrganization ? (await listCollections(abort)).collection_names : []),
    [hasOrganization],
  );
  const [typed, setTyped] = useState('');
  const [chosenId, setChosenId] = useState<string | null>(null);
  const search = useSearchCommand();
  const all = useCommands(collections.data ?? []);
  const groups = filterCommands(all, typed, search);
  const commands = groups.flatMap((group) => group.commands);
  const position = Math.max(
    0,
    commands.findIndex(({ id }) => id === chosenId),
  );
  const current = commands[position];
  // Closed first: the dialog restores the focus before the command moves it.
  const run = (command: Command) => {
    onClose();
    queueMicrotask(command.run);
  };
  const moveTo = (to: number) => setChosenId(commands.at(to % commands.length)?.id ?? null);
  return (
    <Dialog title={texts.commandPalette} hasHeader={false} onClose={onClose}>
      <PaletteInput
        typed={typed}
        onType={(text) => {
          setTyped(text);
          setChosenId(null);
        }}
        current={current}
        onKey={(key) => {
          if (key === 'ArrowDown') moveTo(position + 1);
          else if (key === 'ArrowUp') moveTo(position - 1);
          else if (key === 'Enter' && current !== undefined) run(current);
          else return false;
          return true;
        }}
      />
      <PaletteList groups={groups} current={current} onRun={run} />
      <p class="visually-hidden" role="status">
        {counted(texts.countCommands, commands.length)}
      </p>
      {collections.error !== null && <p class="hint wrong">{texts.theCollectionsCouldNotBe}</p>}
    </Dialog>
  );
}

const listId = 'palette-list';

function optionId(command: Command | undefined): string | undefined {
  return command === undefined ? undefined : `palette-${command.id.replaceAll(/\s/g, '-')}`;
}

interface PaletteInputProps {
  readonly typed: string;
  readonly onType: (text: string) => void;
  readonly current: Command | undefined;
  /** Returns whether the key was used. */
  readonly onKey: (key: string) => boolean;
}

function PaletteInput({ typed, onType, current, onKey }: PaletteInputProps) {
  return (
    <fieldset class="palette-input">
      <Icon name="search" />
      <input
        type="text"
        role="combobox"
        aria-label={texts.pageCollectionOrAction}
        aria-expanded="true"
        aria-controls={listId}
        aria-autocomplete="list"
        aria-activedescendant={optionId(current)}
        autocomplete="off"
        spellcheck={false}
        maxLength={256}
        placeholder={texts.goToAPageCollection}
        value={typed}
        onInput={(event) => onType(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (!event.isComposing && onKey(event.key)) event.preventDefault();
        }}
      />
    </fieldset>
  );
}

interface PaletteListProps {
  readonly groups: readonly CommandGroup[];
  readonly current: Command | undefined;
  readonly onRun: (command: Command) => void;
}

function PaletteList({ groups, current, onRun }: PaletteListProps) {
  const list = useRef<HTMLDivElement>(null);
  const id = useId();
  useLayoutEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [current?.id]);
  return (
    <div ref={list} id={listId} class="palette-list" role="listbox" aria-label={texts.commands}>
      {groups.map(({ name, commands }) => (
        <div key={name} role="group" aria-labelledby={`${id}-${name}`}>
          <h3 id={`${id}-${name}`} role="presentation">
            {name}
          </h3>
          {commands.map((command) => (
            // biome-ignore lint/a11y/useKeyWithClickEvents: the field keeps the focus and handles the keys
            <div
              key={command.id}
              id={optionId(command)}
              role="option"
              tabIndex={-1}
              class="palette-option"
              aria-selected={command.id === current?.id}
              onMouseDown={(event) => event.preventDefault()}
              onClick={() => onRun(command)}
            >
              <Icon name={command.icon} />
              <span class="cut">{command.name}</span>
            </div>
          ))}
        </div>
      ))}
    </div>
  );
}
