// Result of an operation, by value. No exception leaves this library.
#pragma once

#include <string>
#include <utility>

namespace quarry {

enum class StatusCode {
  kOk,
  kBusy,      // a bounded queue is full
  kDeadline,  // the time limit of a search has passed
  kCanceled,  // the caller canceled the operation
  kClosed,    // the collection was closed or dropped
  kUnstaged,  // a commit names a version that was never staged
  kSequence,  // a commit is older than its shard
  kInvalid,   // malformed input: an error of the caller
  kConflict,  // the collection is open with other dimensions, shards or folder
  kMissing,   // a file does not exist
  kDamaged,   // a file exists but cannot be used
  kIo,        // a system call failed
  kMemory,    // out of memory
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // Returns the code as the string that JavaScript receives.
  const char* CodeName() const {
    switch (code_) {
      case StatusCode::kOk: return "ok";
      case StatusCode::kBusy: return "busy";
      case StatusCode::kDeadline: return "deadline";
      case StatusCode::kCanceled: return "canceled";
      case StatusCode::kClosed: return "closed";
      case StatusCode::kUnstaged: return "unstaged";
      case StatusCode::kSequence: return "sequence";
      case StatusCode::kInvalid: return "invalid";
      case StatusCode::kConflict: return "conflict";
      case StatusCode::kMissing: return "missing";
      case StatusCode::kDamaged: return "damaged";
      case StatusCode::kIo: return "io";
      case StatusCode::kMemory: return "memory";
    }
    return "unknown";
  }

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

}  // namespace quarry
