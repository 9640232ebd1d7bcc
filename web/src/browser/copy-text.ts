/** Puts a text on the clipboard; false when the browser lets no page do that. */
export async function copyText(text: string): Promise<boolean> {
  if (navigator.clipboard === undefined) return copyAsBefore(text);
  return navigator.clipboard.writeText(text).then(
    () => true,
    () => copyAsBefore(text),
  );
}

/** Over plain http from another machine there is no clipboard of its own, but what is selected can be copied. */
function copyAsBefore(text: string): boolean {
  const field = document.createElement('textarea');
  field.value = text;
  field.readOnly = true;
  field.className = 'unseen';
  // Inside an open dialog nothing outside of it can be selected.
  const place = document.querySelector('dialog[open]') ?? document.body;
  const before = document.activeElement;
  place.append(field);
  field.select();
  const isCopied = document.execCommand('copy');
  field.remove();
  if (before instanceof HTMLElement) before.focus();
  return isCopied;
}
