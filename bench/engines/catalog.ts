import { chroma } from './chroma.ts';
import { hnswlibNative } from './hnswlib-native.ts';
import { hnswlibNode } from './hnswlib-node.ts';
import { lancedb } from './lancedb.ts';
import { pgvector } from './pgvector.ts';
import { quarry, quarryAvx2 } from './quarry.ts';
import { sqliteVec } from './sqlite-vec.ts';
import { usearch } from './usearch.ts';
import type { EngineKind } from './vector-engine.ts';

/** Quarry, with the fastest kernels of this processor and with a restricted instruction set. */
export const ownEngines: readonly EngineKind[] = [quarry, quarryAvx2];

/** All engines of the case `engine`, Quarry first. */
export const engineKinds: readonly EngineKind[] = [
  quarry,
  hnswlibNode,
  hnswlibNative,
  usearch,
  sqliteVec,
  lancedb,
  chroma,
  pgvector,
  quarryAvx2,
];
