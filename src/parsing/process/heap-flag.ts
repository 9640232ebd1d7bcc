import { setFlagsFromString } from 'node:v8';

/**
 * Returns the flag that limits the heap of this process to its default; the heap keeps the limit. V8 uses the compiled
 * code that Node.js contains of its modules only while all flags have their defaults, so this comes before the imports of
 * other modules.
 */
export function resetHeapFlag(): void {
  setFlagsFromString('--max-old-space-size=0');
}
