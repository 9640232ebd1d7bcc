/** Whether the whole text is a JSON object or array. */
export function isJson(text: string): boolean {
  if (!/^\s*[[{]/.test(text) || !/[\]}]\s*$/.test(text.slice(-200))) return false;
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    if (error instanceof SyntaxError) return false; // text that only resembles JSON
    throw error;
  }
}
