#include "bridge/sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdlib>
#include <filesystem>
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

}  // namespace

void AddSocketFunctions(Napi::Env env, Napi::Object exports) {
  exports.Set("limitReceiveBuffers",
              Napi::Function::New<CatchOutOfMemory<LimitReceiveBuffers>>(env, "limitReceiveBuffers"));
}

}  // namespace quarry
