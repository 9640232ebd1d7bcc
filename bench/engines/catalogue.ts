import { hnswlibNative } from './hnswlib-native.ts';
import { hnswlibNode } from './hnswlib-node.ts';
import { quarry } from './quarry.ts';
import type { EngineKind } from './vector-engine.ts';

/** Every engine the case `engine` knows, ours first. */
export const engineKinds: readonly EngineKind[] = [quarry, hnswlibNode, hnswlibNative];
