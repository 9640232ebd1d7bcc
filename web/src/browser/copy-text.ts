/** Copies a text to the clipboard. Returns false if the browser does not allow it. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard === undefined) return copyWithExecCommand(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copyWithExecCommand(text),
  );
}

/**
 * Fallback for plain http from another machine, where the clipboard API is missing but `execCommand` works.
 */
function copyWithExecCommand(text: string): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'visually-hidden';
  // Elements outside an open dialog cannot be selected.
  const container = document.querySelector('dialog[open]') ?? document.body;
  const previousFocus = document.activeElement;
  container.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (previousFocus instanceof HTMLElement) previousFocus.focus();
  return isCopied;
}
