// File access for snapshots: atomic writes and partial reads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "engine/checksum.h"
#include "engine/mutex.h"
#include "engine/status.h"

namespace quarry {

// Writes a file under a temporary name. Commit makes it durable and renames it to its final name atomically.
// Without Commit, the temporary file is removed. After the first error, later writes do nothing.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void Write(const void* bytes, size_t length);
  // Overwrites bytes written before. Does not move the write position.
  void WriteAt(uint64_t offset, const void* bytes, size_t length);
  uint64_t written() const { return flushed_ + buffer_.size(); }
  // Calls fsync; then, holding `mutex`, renames if `mayCommit` returns ok; then calls fsync on the folder.
  Status Commit(Mutex* mutex, const std::function<Status()>& mayCommit);
  // For mapping the committed file.
  int descriptor() const { return descriptor_; }

 private:
  void Flush();
  void Put(const char* bytes, size_t length);
  void Fail(const char* action);

  const std::string path_;
  const std::string temporaryPath_;
  int descriptor_ = -1;
  bool committed_ = false;
  uint64_t flushed_ = 0;
  std::string buffer_;
  Status status_;
};

// A file open for reading.
class ReadableFile {
 public:
  ReadableFile() = default;
  ~ReadableFile();
  ReadableFile(const ReadableFile&) = delete;
  ReadableFile& operator=(const ReadableFile&) = delete;

  // Returns kMissing if the file does not exist.
  Status Open(const std::string& path);
  const std::string& path() const { return path_; }
  uint64_t length() const { return length_; }
  int descriptor() const { return descriptor_; }
  // Reads exactly `length` bytes. Returns kDamaged if the file ends earlier. Thread-safe.
  Status ReadAt(uint64_t offset, void* bytes, size_t length) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t length_ = 0;
};

// Creates the folder and its missing parents. Sets `created` to whether the folder itself is new.
Status CreateFolder(const std::string& path, bool* created);
// Removes the files of the folder whose names start with `prefix` and contain `part`.
Status RemoveFiles(const std::string& folder, const std::string& prefix, const std::string& part);
// Removes an empty folder. Succeeds without effect if it does not exist or is not empty.
Status RemoveFolder(const std::string& path);

}  // namespace quarry
