const pattern = /^(?:list:)?[\p{L}\p{N}_-]+$/u;

/** Whether a text can be the name of a metadata field, with the prefix `list:` for lists. */
export function isFieldName(name: string): boolean {
  return pattern.test(name);
}
