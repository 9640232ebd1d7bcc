import type { ButtonHTMLAttributes, ComponentChildren } from 'preact';

type ButtonTone = 'plain' | 'primary' | 'danger' | 'ghost';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: ButtonTone;
  /** An action is running: the button keeps its size and ignores clicks. */
  readonly busy?: boolean;
  readonly children: ComponentChildren;
}

export function Button({ tone = 'plain', busy = false, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      class={`button ${tone} ${rest.class ?? ''}`}
      aria-busy={busy}
      aria-disabled={busy}
      onClick={busy ? undefined : rest.onClick}
    >
      <span class="button-label">{children}</span>
      {busy && <span class="spinner" aria-hidden="true" />}
    </button>
  );
}

interface LinkButtonProps {
  readonly href: string;
  readonly tone?: ButtonTone;
  /** External page, which opens in another tab. */
  readonly isExternal?: boolean;
  readonly onFollow?: () => void;
  readonly children: ComponentChildren;
}

/** Link styled as a button, for navigation to another page. */
export function LinkButton({
  href,
  tone = 'plain',
  isExternal = false,
  onFollow,
  children,
}: LinkButtonProps) {
  const externalAttributes = isExternal ? { target: '_blank', rel: 'noreferrer' } : {};
  return (
    <a class={`button ${tone}`} href={href} {...externalAttributes} onClick={onFollow}>
      <span class="button-label">{children}</span>
    </a>
  );
}
