import { MemoryStore } from '../../src/storage/memory-store.ts';
import { appendContract } from './append-contract.ts';
import { type StoreUnderTest, storeContract } from './store-contract.ts';

const implementation: StoreUnderTest = {
  name: 'memory',
  open: async (options = {}) => new MemoryStore(options),
};
storeContract(implementation);
appendContract(implementation);
