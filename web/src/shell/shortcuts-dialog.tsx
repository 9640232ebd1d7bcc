import { Button } from '../components/button.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { texts } from '../texts/en/overlays.ts';
import { type OverlayProps, paletteKeys } from './overlay-state.ts';

const groups: readonly (readonly [string, readonly (readonly [readonly string[], string])[]])[] = [
  [
    texts.allPages,
    [
      [['/'], texts.search],
      [[paletteKeys], texts.openTheCommandPalette],
      [['?'], texts.showTheseShortcuts],
    ],
  ],
  [
    texts.search,
    [
      [['Enter'], texts.runTheQuery],
      [['Shift Enter'], texts.newLineInTheQuery],
    ],
  ],
  [
    texts.document,
    [
      [['←', '→', 'Page Up', 'Page Down'], texts.previousAndNextPage],
      [['+', '−'], texts.zoomInAndOut],
      [['0'], texts.fitTheWidth],
    ],
  ],
];

export function ShortcutsDialog({ onClose }: OverlayProps) {
  return (
    <Dialog title={texts.keyboardShortcuts} onClose={onClose}>
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
      <p class="hint">{texts.singleKeyShortcutsAreDisabled}</p>
      <DialogActions>
        <Button onClick={onClose}>{texts.close}</Button>
      </DialogActions>
    </Dialog>
  );
}
