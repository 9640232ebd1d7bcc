import { useEffect, useState } from 'preact/hooks';
import { copyText } from '../browser/copy-text.ts';
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
  const [outcome, setOutcome] = useState<'copied' | 'failed' | null>(null);
  useEffect(() => {
    if (outcome === null) return;
    const timer = setTimeout(() => setOutcome(null), shownMs);
    return () => clearTimeout(timer);
  }, [outcome]);
  const copy = async () => {
    const isCopied = await copyText(text);
    setOutcome(isCopied ? 'copied' : 'failed');
    if (isCopied) onCopied?.();
  };
  return (
    <Button onClick={() => void copy()} class="copy">
      <span aria-live="polite">
        {outcome === null ? label : outcome === 'copied' ? texts.copied : texts.copyManually}
      </span>
    </Button>
  );
}
