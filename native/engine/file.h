// Files as snapshots need them: written whole or not at all, and read in parts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>

#include "engine/checksum.h"
#include "engine/status.h"

namespace quarry {

// Writes a file under a temporary name; Commit makes it durable and gives it its own name in one step. Without
// Commit the temporary file is removed. After the first error every later write does nothing.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void Write(const void* bytes, size_t length);
  // Overwrites bytes written before; does not move the end.
  void WriteAt(uint64_t offset, const void* bytes, size_t length);
  uint64_t written() const { return flushed_ + buffer_.size(); }
  // fsync; then, holding `mutex`, asks `allowed` and renames when it is ok; then fsync of the folder.
  Status Commit(std::mutex* mutex, const std::function<Status()>& allowed);
  // For mapping what was committed.
  int descriptor() const { return descriptor_; }

 private:
  void Flush();
  void Put(const char* bytes, size_t length);
  void Fail(const char* action);

  const std::string path_;
  const std::string temporary_;
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

  // kMissing when there is no such file.
  Status Open(const std::string& path);
  uint64_t length() const { return length_; }
  int descriptor() const { return descriptor_; }
  // Reads exactly `length` bytes: kDamaged when the file ends before them. Any thread.
  Status ReadAt(uint64_t offset, void* bytes, size_t length) const;

 private:
  std::string path_;
  int descriptor_ = -1;
  uint64_t length_ = 0;
};

// Creates the folder and its missing parents. `created` tells whether the folder itself is new.
Status CreateFolder(const std::string& path, bool* created);
// Removes the files of the folder whose names begin with `prefix` and contain `part`.
Status RemoveFiles(const std::string& folder, const std::string& prefix, const std::string& part);
// Removes an empty folder; one that does not exist or is not empty is fine.
Status RemoveFolder(const std::string& path);

}  // namespace quarry
