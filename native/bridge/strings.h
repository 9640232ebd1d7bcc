#pragma once

#include <napi.h>

#include <string>
#include <string_view>

namespace quarry {

// Copies the units of a string, which costs a fraction of looking at them.
std::u16string_view UnitsOf(Napi::Env env, napi_value value, std::u16string* units);

}  // namespace quarry
