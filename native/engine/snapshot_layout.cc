#include "engine/snapshot_layout.h"

#include "engine/checksum.h"

namespace quarry {

uint32_t HeaderChecksum(const SnapshotHeader& header) {
  Crc32c checksum;
  checksum.Add(&header, offsetof(SnapshotHeader, checksum));
  return checksum.Value();
}

}  // namespace quarry
