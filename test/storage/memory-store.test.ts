import { MemoryStore } from '../../src/storage/memory-store.ts';
import { storeContract } from './store-contract.ts';

storeContract({ name: 'memory', open: async (options = {}) => new MemoryStore(options) });
