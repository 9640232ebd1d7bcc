#include "engine/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

namespace quarry {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
std::atomic<uint64_t> nextTemporary{0};

Status IoError(const char* action, const std::string& path, int error) {
  return {StatusCode::kIo, std::string(action) + " " + path + ": " + std::generic_category().message(error)};
}

// Status of a file that cannot be read. Exhausted memory or descriptors do not mean that the file is damaged.
Status ReadError(const char* action, const std::string& path, int error) {
  Status status = IoError(action, path, error);
  if (error == ENOMEM) return {StatusCode::kMemory, status.message()};
  if (error == EMFILE || error == ENFILE) return status;
  return {StatusCode::kDamaged, status.message()};
}

int Sync(int descriptor) {
#if defined(__APPLE__)
  return fcntl(descriptor, F_FULLFSYNC);
#else
  return fsync(descriptor);
#endif
}

}  // namespace

// Numbered, so that an abandoned temporary file and its replacement never share a name.
AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)), temporaryPath_(path_ + ".tmp" + std::to_string(nextTemporary.fetch_add(1))) {
  descriptor_ = open(temporaryPath_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor_ < 0) Fail("create");
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  close(descriptor_);
  if (!committed_) unlink(temporaryPath_.c_str());
}

void AtomicFile::Fail(const char* action) {
  if (status_.ok()) status_ = IoError(action, temporaryPath_, errno);
}

void AtomicFile::Put(const char* bytes, size_t length) {
  flushed_ += length;
  while (status_.ok() && length > 0) {
    const ssize_t wrote = write(descriptor_, bytes, length);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Fail("write");
    bytes += wrote;
    length -= static_cast<size_t>(wrote);
  }
}

void AtomicFile::Flush() {
  Put(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::Write(const void* bytes, size_t length) {
  if (!status_.ok()) return;
  if (buffer_.size() + length > kBufferBytes) Flush();
  if (length > kBufferBytes) return Put(static_cast<const char*>(bytes), length);
  buffer_.append(static_cast<const char*>(bytes), length);
}

void AtomicFile::WriteAt(uint64_t offset, const void* bytes, size_t length) {
  Flush();
  const auto* from = static_cast<const char*>(bytes);
  while (status_.ok() && length > 0) {
    const ssize_t wrote = pwrite(descriptor_, from, length, static_cast<off_t>(offset));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Fail("write");
    from += wrote;
    offset += static_cast<uint64_t>(wrote);
    length -= static_cast<size_t>(wrote);
  }
}

Status AtomicFile::Commit(Mutex* mutex, const std::function<Status()>& mayCommit) {
  Flush();
  if (status_.ok() && Sync(descriptor_) != 0) Fail("fsync");
  if (!status_.ok()) return status_;
  {
    const MutexLock lock(*mutex);
    if (Status status = mayCommit(); !status.ok()) return status;
    if (rename(temporaryPath_.c_str(), path_.c_str()) != 0) {
      Fail("rename");
      return status_;
    }
  }
  committed_ = true;
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  const int folderDescriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folderDescriptor < 0) return IoError("open", folder, errno);
  const int synced = fsync(folderDescriptor);
  const int error = errno;
  close(folderDescriptor);
  return synced == 0 ? Status() : IoError("fsync", folder, error);
}

ReadableFile::~ReadableFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

Status ReadableFile::Open(const std::string& path) {
  path_ = path;
  descriptor_ = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) {
    return errno == ENOENT ? Status(StatusCode::kMissing, path + " does not exist") : ReadError("open", path, errno);
  }
  struct stat info {};
  if (fstat(descriptor_, &info) != 0) return ReadError("stat", path, errno);
  if (!S_ISREG(info.st_mode)) return {StatusCode::kDamaged, path + " is not a regular file"};
  length_ = static_cast<uint64_t>(info.st_size);
  return {};
}

Status ReadableFile::ReadAt(uint64_t offset, void* bytes, size_t length) const {
  auto* to = static_cast<char*>(bytes);
  while (length > 0) {
    const ssize_t got = pread(descriptor_, to, length, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ReadError("read", path_, errno);
    if (got == 0) return {StatusCode::kDamaged, path_ + " is truncated"};
    to += got;
    offset += static_cast<uint64_t>(got);
    length -= static_cast<size_t>(got);
  }
  return {};
}

Status CreateFolder(const std::string& path, bool* created) {
  std::error_code error;
  *created = std::filesystem::create_directories(path, error);
  if (error) return {StatusCode::kIo, "create folder " + path + ": " + error.message()};
  return {};
}

Status RemoveFiles(const std::string& folder, const std::string& prefix, const std::string& part) {
  std::error_code error;
  auto entries = std::filesystem::directory_iterator(folder, error);
  if (error == std::errc::no_such_file_or_directory) return {};
  for (; !error && entries != std::filesystem::directory_iterator(); entries.increment(error)) {
    const std::string name = entries->path().filename().string();
    if (!name.starts_with(prefix) || name.find(part) == std::string::npos) continue;
    const std::string path = entries->path().string();
    if (unlink(path.c_str()) != 0 && errno != ENOENT) return IoError("remove", path, errno);
  }
  if (error) return {StatusCode::kIo, "list folder " + folder + ": " + error.message()};
  return {};
}

Status RemoveFolder(const std::string& path) {
  if (rmdir(path.c_str()) != 0 && errno != ENOENT && errno != ENOTEMPTY && errno != EEXIST) {
    return IoError("remove folder", path, errno);
  }
  return {};
}

}  // namespace quarry
