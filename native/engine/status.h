// Result of an operation, by value. No exception leaves this library.
#pragma once

#include <string>
#include <utility>

namespace quarry {

enum class Code {
  kOk,
  kBusy,       // a bounded queue is full
  kDeadline,   // the time limit of a search has passed
  kCancelled,  // the caller canceled the operation
  kClosed,     // the collection was closed or dropped
  kUnstaged,   // a commit names a version that was never staged
  kSequence,   // a commit is older than its shard
  kInvalid,    // malformed input: an error of the caller
  kConflict,   // the collection is open with other dimensions, shards or folder
  kMissing,    // a file does not exist
  kDamaged,    // a file exists but cannot be used
  kIo,         // a system call failed
  kMemory,     // out of memory
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }
  // Returns the code as the string that JavaScript receives.
  const char* CodeName() const {
    switch (code_) {
      case Code::kOk: return "ok";
      case Code::kBusy: return "busy";
      case Code::kDeadline: return "deadline";
      case Code::kCancelled: return "cancelled";
      case Code::kClosed: return "closed";
      case Code::kUnstaged: return "unstaged";
      case Code::kSequence: return "sequence";
      case Code::kInvalid: return "invalid";
      case Code::kConflict: return "conflict";
      case Code::kMissing: return "missing";
      case Code::kDamaged: return "damaged";
      case Code::kIo: return "io";
      case Code::kMemory: return "memory";
    }
    return "unknown";
  }

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

}  // namespace quarry
