#include "engine/file_pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>

#include "check.h"

namespace quarry {
namespace {

// Unnamed file of zeros.
class PageFile {
 public:
  explicit PageFile(size_t bytes) : file_(std::tmpfile()) { Resize(bytes); }
  ~PageFile() { std::fclose(file_); }
  PageFile(const PageFile&) = delete;
  PageFile& operator=(const PageFile&) = delete;

  int descriptor() const { return fileno(file_); }
  void Resize(size_t bytes) const { CHECK(ftruncate(descriptor(), static_cast<off_t>(bytes)) == 0); }

 private:
  FILE* file_;
};

// Three adjacent pages in memory.
class Pages {
 public:
  Pages() : bytes_(FilePageBytes()) {
    memory_ = mmap(nullptr, 3 * bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory_ != MAP_FAILED);
  }
  ~Pages() {
    UnregisterFilePages(memory_, 3 * bytes_);
    munmap(memory_, 3 * bytes_);
  }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  char* at(size_t page) const { return static_cast<char*>(memory_) + page * bytes_; }
  size_t bytes() const { return bytes_; }

 private:
  size_t bytes_;
  void* memory_;
};

}  // namespace

CONCURRENT_TEST("file pages: an unreadable page affects only its own mapping while others are added and removed") {
  const Pages pages;
  const size_t bytes = pages.bytes();
  const PageFile sound(bytes);
  const PageFile cut(bytes);
  std::atomic<bool> before{false};
  std::atomic<bool> after{false};
  std::atomic<bool> done{false};
  // The same table entry holds the page before the faulting one, then the page after it.
  std::thread others([&] {
    while (!done) {
      CHECK(MapFilePages(sound.descriptor(), 0, pages.at(0), bytes, &before));
      UnregisterFilePages(pages.at(0), bytes);
      CHECK(MapFilePages(sound.descriptor(), 0, pages.at(2), bytes, &after));
      UnregisterFilePages(pages.at(2), bytes);
    }
  });
  constexpr int kFaults = 3000;
  for (int i = 0; i < kFaults; i++) {
    std::atomic<bool> readFailed{false};
    cut.Resize(bytes);
    CHECK(MapFilePages(cut.descriptor(), 0, pages.at(1), bytes, &readFailed));
    cut.Resize(0);
    CHECK(*static_cast<volatile char*>(pages.at(1)) == 0);
    CHECK(readFailed);
    UnregisterFilePages(pages.at(1), bytes);
  }
  done = true;
  others.join();
  CHECK(!before);
  CHECK(!after);
}

}  // namespace quarry
