import { useEffect, useState } from 'preact/hooks';
import { copyText } from '../browser/copy-text.ts';
import { Icon } from '../shell/icons.tsx';
import { texts } from '../texts/en/components.ts';
import { Button } from './button.tsx';

const shownMs = 2_000;

interface CopyButtonProps {
  readonly text: string;
  /** Label that names the copied content: "Copy key". */
  readonly label?: string;
  readonly onCopied?: () => void;
}

/** Copies a text and shows the outcome for two seconds. */
export function CopyButton({ text, label = texts.copy, onCopied }: CopyButtonProps) {
  const { outcome, copy } = useCopy(text, onCopied);
  return (
    <Button onClick={copy} class="copy">
      <span aria-live="polite">{outcomeLabel(outcome) ?? label}</span>
    </Button>
  );
}

/** Button with an icon behind a short text, such as an ID. */
export function CopyIcon({ text, label }: Required<Pick<CopyButtonProps, 'text' | 'label'>>) {
  const { outcome, copy } = useCopy(text);
  return (
    <>
      <button type="button" class="icon-button copy-icon" aria-label={label} title={label} onClick={copy}>
        <Icon name={outcome === 'copied' ? 'check' : 'copy'} />
      </button>
      <span class={outcome === 'failed' ? 'hint' : 'visually-hidden'} aria-live="polite">
        {outcomeLabel(outcome)}
      </span>
    </>
  );
}

type Outcome = 'copied' | 'failed' | null;

function outcomeLabel(outcome: Outcome): string | null {
  if (outcome === null) return null;
  return outcome === 'copied' ? texts.copied : texts.copyManually;
}

function useCopy(text: string, onCopied?: () => void) {
  const [outcome, setOutcome] = useState<Outcome>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), shownMs);
    return () => clearTimeout(timer);
  }, [outcome]);
  const start = async () => {
    const isCopied = await copyText(text);
    setOutcome(isCopied ? 'copied' : 'failed');
    if (isCopied) onCopied?.();
  };
  return { outcome, copy: () => void start() };
}
