#include "bridge/sockets.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include "bridge/catch_out_of_memory.h"

namespace quarry {
namespace {

bool IsListening(int descriptor) {
  int listening = 0;
  socklen_t size = sizeof(listening);
  return getsockopt(descriptor, SOL_SOCKET, SO_ACCEPTCONN, &listening, &size) == 0 && listening != 0;
}

// Returns the local TCP port; 0 for anything but a TCP socket.
int PortOf(int descriptor) {
  sockaddr_storage address{};
  socklen_t size = sizeof(address);
  if (getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) return 0;
  if (address.ss_family == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&address)->sin_port);
  if (address.ss_family == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&address)->sin6_port);
  return 0;
}

Napi::Value LimitReceiveBuffers(const Napi::CallbackInfo& info) {
  const int port = info[0].As<Napi::Number>().Int32Value();
  const int bytes = info[1].As<Napi::Number>().Int32Value();
  int limited = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/dev/fd", error)) {
    const int descriptor = std::atoi(entry.path().filename().c_str());
    if (!IsListening(descriptor) || PortOf(descriptor) != port) continue;
    if (setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes)) == 0) ++limited;
  }
  return Napi::Number::New(info.Env(), limited);
}

// Sends a datagram without blocking. Returns 0 or the error number. An address that starts with '@' is in the abstract
// namespace of Linux.
int SendDatagram(const std::string& address, const std::string& message) {
  sockaddr_un target{};
  target.sun_family = AF_UNIX;
  if (address.empty() || address.size() >= sizeof(target.sun_path)) return EINVAL;
  std::memcpy(target.sun_path, address.data(), address.size());
  if (address[0] == '@') target.sun_path[0] = '\0';
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (descriptor < 0) return errno;
  fcntl(descriptor, F_SETFD, FD_CLOEXEC);
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size());
  const ssize_t sent = sendto(descriptor, message.data(), message.size(), MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&target), size);
  const int error = sent < 0 ? errno : 0;
  close(descriptor);
  return error;
}

Napi::Value SendUnixDatagram(const Napi::CallbackInfo& info) {
  const std::string address = info[0].As<Napi::String>().Utf8Value();
  const int error = SendDatagram(address, info[1].As<Napi::String>().Utf8Value());
  if (error != 0) throw Napi::Error::New(info.Env(), std::generic_category().message(error));
  return info.Env().Undefined();
}

}  // namespace

void AddSocketFunctions(Napi::Env env, Napi::Object exports) {
  exports.Set("limitReceiveBuffers",
              Napi::Function::New<CatchOutOfMemory<LimitReceiveBuffers>>(env, "limitReceiveBuffers"));
  exports.Set("sendUnixDatagram", Napi::Function::New<CatchOutOfMemory<SendUnixDatagram>>(env, "sendUnixDatagram"));
}

}  // namespace quarry
