/** Puts a text on the clipboard; false when the browser lets no page do that. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard === undefined) return copyWithExecCommand(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copyWithExecCommand(text),
  );
}

/** Over plain http from another machine there is no clipboard of its own, but what is selected can be copied. */
function copyWithExecCommand(text: string): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'unseen';
  // Inside an open dialog nothing outside of it can be selected.
  const container = document.querySelector('dialog[open]') ?? document.body;
  const previousFocus = document.activeElement;
  container.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (previousFocus instanceof HTMLElement) previousFocus.focus();
  return isCopied;
}
