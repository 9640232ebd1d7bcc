import type { RefObject } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Curation, Curations } from '../../../src/schemas/curations.ts';
import { Button } from '../components/button.tsx';
import { ConfirmDialog } from '../components/confirm-dialog.tsx';
import { Dialog, DialogActions } from '../components/dialog.tsx';
import { LoadError } from '../components/error-message.tsx';
import { SkeletonRows } from '../components/skeleton.tsx';
import { showToast } from '../components/toasts.tsx';
import { useLoad } from '../server/load.ts';
import { getCollectionInfo, updateCurations } from '../server/retrieval.ts';
import { texts } from '../texts/en/curations.ts';
import { fill } from '../texts/format-text.ts';
import { collectionChanges } from './collection-changes.ts';
import { CurationForm } from './curation-form.tsx';
import { CurationTrial } from './curation-trial.tsx';

interface CurationsDialogProps {
  readonly collection: string;
  readonly onClose: () => void;
}

/** Dialog above the list of rules; `at` is the position of its rule. */
type Above = { readonly action: 'edit' | 'remove' | 'try'; readonly at: number };

/** Lists and edits the rules that pin and hide documents in the results of certain queries. */
export function CurationsDialog({ collection, onClose }: CurationsDialogProps) {
  const rules = useLoad(
    async (abort) => (await getCollectionInfo(collection, abort)).collection.curations ?? [],
    [collection],
  );
  const [above, setAbove] = useState<Above | null>(null);
  const addButton = useRef<HTMLSpanElement>(null);
  const hasRemoved = useRef(false);
  // The button that opened the dialog of a removed rule is gone.
  useEffect(() => {
    if (above !== null || !hasRemoved.current) return;
    hasRemoved.current = false;
    addButton.current?.querySelector('button')?.focus();
  }, [above]);
  const saved = rules.data ?? [];
  const close = () => setAbove(null);
  const save = async (changed: Curations, message: string) => {
    await updateCurations(collection, changed);
    rules.replace(changed);
    collectionChanges.value += 1;
    showToast(message, 'good', { topic: 'curations' });
  };
  const rule = above === null ? undefined : saved[above.at];
  return (
    <>
      <Dialog title={fill(texts.pinnedAndHiddenResultsOf, { collection })} onClose={onClose}>
        {rules.data !== undefined ? (
          <RuleList rules={rules.data} addButton={addButton} onOpen={setAbove} onClose={onClose} />
        ) : rules.error === null ? (
          <SkeletonRows rows={4} />
        ) : (
          <LoadError error={rules.error} onRetry={rules.reload} />
        )}
      </Dialog>
      {above?.action === 'edit' && (
        <CurationForm
          saved={rule}
          onClose={close}
          onSave={(changed) => save(saved.toSpliced(above.at, 1, changed), texts.ruleSaved)}
        />
      )}
      {above?.action === 'try' && rule !== undefined && (
        <CurationTrial collection={collection} rule={rule} onClose={close} onLeave={onClose} />
      )}
      {above?.action === 'remove' && rule !== undefined && (
        <ConfirmDialog
          title={fill(texts.removeTheRuleForRule, { rule: nameOf(rule) })}
          action={texts.removeRule}
          onClose={close}
          onConfirm={async () => {
            await save(saved.toSpliced(above.at, 1), texts.ruleRemoved);
            hasRemoved.current = true;
          }}
        >
          <p>{texts.itsQueriesReturnTheirResults}</p>
        </ConfirmDialog>
      )}
    </>
  );
}

function nameOf({ queries }: Curation): string {
  return queries.map((query) => `“${query}”`).join(', ');
}

interface RuleListProps {
  readonly rules: Curations;
  readonly addButton: RefObject<HTMLSpanElement | null>;
  readonly onOpen: (above: Above) => void;
  readonly onClose: () => void;
}

function RuleList({ rules, addButton, onOpen, onClose }: RuleListProps) {
  return (
    <>
      <p class="muted">{texts.aRuleAppliesToA}</p>
      {rules.length === 0 ? (
        <p>{texts.noRulesYet}</p>
      ) : (
        <ul class="curations" aria-label={texts.rules}>
          {rules.map((rule, at) => (
            <Rule key={nameOf(rule)} rule={rule} onOpen={(action) => onOpen({ action, at })} />
          ))}
        </ul>
      )}
      <DialogActions>
        <Button onClick={onClose}>{texts.close}</Button>
        <span ref={addButton}>
          <Button tone="primary" onClick={() => onOpen({ action: 'edit', at: rules.length })}>
            {texts.addRule}
          </Button>
        </span>
      </DialogActions>
    </>
  );
}

interface RuleProps {
  readonly rule: Curation;
  readonly onOpen: (action: Above['action']) => void;
}

function Rule({ rule, onOpen }: RuleProps) {
  const { pinned = [], hidden = [] } = rule;
  const name = nameOf(rule);
  return (
    <li class="curation">
      <strong>{name}</strong>
      {pinned.length > 0 && <p>{fill(texts.pinnedPinned, { pinned: pinned.join(', ') })}</p>}
      {hidden.length > 0 && <p>{fill(texts.hiddenHidden, { hidden: hidden.join(', ') })}</p>}
      <div class="row">
        <Button class="small" aria-label={fill(texts.tryQueryName, { name })} onClick={() => onOpen('try')}>
          {texts.tryQuery}
        </Button>
        <Button
          class="small"
          aria-label={fill(texts.editTheRuleForName, { name })}
          onClick={() => onOpen('edit')}
        >
          {texts.edit}
        </Button>
        <Button
          class="small"
          aria-label={fill(texts.removeTheRuleForName, { name })}
          onClick={() => onOpen('remove')}
        >
          {texts.remove}
        </Button>
      </div>
    </li>
  );
}
