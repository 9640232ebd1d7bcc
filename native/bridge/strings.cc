#include "bridge/strings.h"

namespace quarry {

std::u16string_view UnitsOf(Napi::Env env, napi_value value, std::u16string* units) {
  size_t length = 0;
  napi_status status = napi_get_value_string_utf16(env, value, nullptr, 0, &length);
  if (status == napi_ok) {
    if (units->size() < length + 1) units->resize(length + 1);
    status = napi_get_value_string_utf16(env, value, units->data(), units->size(), &length);
  }
  if (status != napi_ok) throw Napi::TypeError::New(env, "a text must be a string");
  return {units->data(), length};
}

}  // namespace quarry
