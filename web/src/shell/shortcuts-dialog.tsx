import { Button } from '../components/button.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { type OverlayProps, paletteKeys } from './overlay-state.ts';

const groups: readonly (readonly [string, readonly (readonly [readonly string[], string])[]])[] = [
  [
    'All pages',
    [
      [['/'], 'Search'],
      [[paletteKeys], 'Open the command palette'],
      [['?'], 'Show these shortcuts'],
    ],
  ],
  [
    'Search',
    [
      [['Enter'], 'Run the query'],
      [['Shift Enter'], 'New line in the query'],
    ],
  ],
  [
    'Document',
    [
      [['←', '→'], 'Previous and next page'],
      [['Page Up', 'Page Down'], 'Previous and next page'],
      [['+', '−'], 'Zoom in and out'],
      [['0'], 'Fit the width'],
    ],
  ],
];

export function ShortcutsDialog({ onClose }: OverlayProps) {
  return (
    <Dialog title="Keyboard shortcuts" onClose={onClose}>
      {groups.map(([title, shortcuts]) => (
        <section key={title} class="shortcuts">
          <h3>{title}</h3>
          <dl>
            {shortcuts.map(([keys, action]) => (
              <div key={keys.join()}>
                <dt>{action}</dt>
                <dd>
                  {keys.map((key) => (
                    <kbd key={key}>{key}</kbd>
                  ))}
                </dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
      <p class="hint">Single-key shortcuts are disabled while you type in a field.</p>
      <DialogActions>
        <Button onClick={onClose}>Close</Button>
      </DialogActions>
    </Dialog>
  );
}
